/** `npm run karmada:down`: ends what `karmada:up` started, by its recorded ids, and removes its folder. */
import { takeDown } from "../../stack/commands.ts";

await takeDown("karmada");
