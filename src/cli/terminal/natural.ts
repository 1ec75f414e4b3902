/** Names in natural order: member2 before member10. */
export const natural = new Intl.Collator("en", { numeric: true }).compare;
