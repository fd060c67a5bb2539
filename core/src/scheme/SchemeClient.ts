/**
 * The scheme client: it signs an authorization for one offered option of a payer.
 */
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { Asset } from "../protocol/Asset.ts"
import type { Network } from "../protocol/Network.ts"
import type { RequestBinding } from "../protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { Scheme } from "./Scheme.ts"

/** The wallet did not sign: it refused, failed, or signed something else. Nothing was sent. */
export class SigningFailed extends Data.TaggedError("SigningFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** The terms to sign. The core decides them: option, validity, binding. The scheme signs exactly these. */
export interface SigningRequest {
  readonly requirements: PaymentRequirements
  /** The asset of the option as this client knows it; never the server's word for it. */
  readonly asset: Asset
  /** Unix seconds. */
  readonly validAfter: number
  /** Unix seconds. */
  readonly validBefore: number
  /** Present when the server sent a challenge: the nonce is derived from it. */
  readonly binding: RequestBinding | undefined
}

/** A signed authorization: the scheme's JSON for the payload, and the payer. */
export interface SignedPayment {
  readonly payload: Schema.Json
  readonly payer: string
  /** The single-use key, as the facilitator will name it (see `Authorization`). */
  readonly nonce: string
}

/** The scheme client of one network, or of a family. */
export interface SchemeClient {
  readonly scheme: Scheme
  /** The one network this signer pays on; `undefined` for every network of the family whose assets this client knows. */
  readonly network: Network | undefined
  /** The account that pays, in its canonical form. Absent: it is known only when something is signed. */
  readonly account?: string
  /** Whether a client without a `network` knows an asset on this one. Absent: it may know one on every network of the family. */
  readonly paysOn?: (network: Network) => boolean
  /** The asset an option names, if this client knows it; an unknown asset is never paid in. */
  readonly asset: (requirements: PaymentRequirements) => Asset | undefined
  /**
   * The reason, for people, why an option in a known asset is not signed: it asks for something that this client does not make.
   * `undefined`, or absent, without such a reason.
   */
  readonly objection?: (requirements: PaymentRequirements, asset: Asset) => string | undefined
  /**
   * The reason, for people, that only the payer's own node shows against an option; asked where nothing else is against it, and once
   * more by `sign`. A node that says nothing is such a reason. Absent: no option needs a node.
   */
  readonly chainObjection?: (requirements: PaymentRequirements, asset: Asset) => Effect.Effect<string | undefined>
  readonly sign: (request: SigningRequest) => Effect.Effect<SignedPayment, SigningFailed>
}
