/**
 * The page that a person gets who opens a paid address in a browser, in place of a refusal in JSON. The gate decides who gets it; a
 * package such as `@pontage/paywall` makes it.
 */
import type { Asset } from "../../protocol/Asset.ts"
import type { HeaderFields } from "../../wire/pontage/Dialect.ts"

/** One way to pay, as the page shows it. */
export interface PaywallOption {
  readonly scheme: string
  readonly network: string
  readonly payTo: string
  readonly asset: Asset
  /** In the smallest unit of the asset. */
  readonly amount: bigint
}

/** The offer of a page. */
export interface PaywallOffer {
  /** The shop's public origin. */
  readonly origin: string
  /** Path and query of the resource, as requested. */
  readonly target: string
  readonly description: string | undefined
  readonly mimeType: string | undefined
  readonly options: ReadonlyArray<PaywallOption>
  /** `Accept-Language` of the request, empty without one. */
  readonly languages: string
}

/** A page or a file of it: headers that are laid over the gate's, and text. */
export interface PaywallContent {
  readonly headers: HeaderFields
  readonly body: string
}

/** Makes the page and its files. Neither may throw. */
export interface Paywall {
  readonly page: (offer: PaywallOffer) => PaywallContent
  /** A file of the page by its name; `path` is that of the page. `undefined` for an unknown name. */
  readonly file: (name: string, place: { readonly origin: string; readonly path: string }) => PaywallContent | undefined
}

/**
 * The query by which a page asks for its files at its own path, the one address that every host passes to the gate:
 * `/report?pontage-paywall=<name>`.
 */
export const fileQuery = "pontage-paywall"

const fileTarget = /^([^?#]*)\?pontage-paywall=([A-Za-z0-9._-]{1,100})$/

/** The file that a request target names, and the page's path; `undefined` for a request of the resource itself. */
export const fileOf = (target: string): { readonly name: string; readonly path: string } | undefined => {
  const [, path, name] = fileTarget.exec(target) ?? []
  return path === undefined || name === undefined ? undefined : { name, path }
}
