/** `npm run ocm:down`: ends what `ocm:up` started, by its recorded ids, and removes its folder. */
import { takeDown } from "../../stack/commands.ts";

await takeDown("ocm");
