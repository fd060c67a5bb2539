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
  /** Present if the request is a form that was sent by POST: what is sold is the response to it. */
  readonly form?: PaywallForm
}

/** Maximum length of a form that a page keeps and sends again with the payment, in bytes. */
export const maximumFormBytes = 1024 * 1024

/**
 * A form that was sent by POST. Its content is that of a stranger: a page keeps it as data. `Elsewhere`: a page of another origin has sent
 * it, and the shop's own page must not send it on. `TooLong`: it exceeds `maximumFormBytes`. `Unread`: the host gives its bytes no more.
 */
export type PaywallForm =
  | { readonly _tag: "Kept"; readonly contentType: string; readonly body: Uint8Array }
  | { readonly _tag: "Elsewhere" }
  | { readonly _tag: "TooLong" }
  | { readonly _tag: "Unread" }

/** A page or a file of it: headers that are laid over the gate's, and text. */
export interface PaywallContent {
  readonly headers: HeaderFields
  readonly body: string
}

/** Makes the page and its files. Neither may throw. */
export interface Paywall {
  readonly page: (offer: PaywallOffer) => PaywallContent
  /** A file of the page by its name. `undefined` for an unknown name. */
  readonly file: (name: string, place: PaywallPlace) => PaywallContent | undefined
}

/** The page that asks for a file. */
export interface PaywallPlace {
  readonly origin: string
  /** The page's path. */
  readonly path: string
  /** POST for the page of a form: nothing can be imported from its address by GET. */
  readonly method: "GET" | "POST"
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
