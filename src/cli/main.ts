import { Command } from "commander";

const program = new Command("lockstep").description("One stateful application over several Kubernetes clusters.");
await program.parseAsync();
