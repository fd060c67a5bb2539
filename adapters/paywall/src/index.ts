/** The page on which a person pays for a sold address. */
export { paywall } from "./Paywall.ts"
export type { PaywallOptions } from "./PaywallOptions.ts"
