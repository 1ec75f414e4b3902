import { describeLarger } from "./testing/larger.ts";

describeLarger(({ protocol }) => protocol === "statefulset");
