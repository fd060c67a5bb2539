/**
 * The payload and the terms of x402's published mechanism for TON (x402 specification, `scheme_exact_ton`): a W5 request inside
 * an internal message, and the Jetton's master. Its offers say `areFeesSponsored` and name no kinds.
 */
import { Shape } from "@pontage/core"
import { RequestBinding } from "@pontage/core/PaymentPayload"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

import * as TonBoc from "../primitives/TonBoc.ts"
import * as JettonTransfer from "../transfer/JettonTransfer.ts"

/** The payload. The signed cells hold everything else; other implementations ignore the binding. */
export const SettlementPayload = /* @__PURE__ */ Schema.Struct({
  settlementBoc: Schema.String,
  asset: Schema.String,
  binding: /* @__PURE__ */ Schema.optionalKey(RequestBinding)
})

/** The fields of the two payloads, by which they are told apart. */
export const isIn = (json: unknown): boolean => Predicate.hasProperty(json, "settlementBoc")

/**
 * The TON that a payer's wallet hands on to its Jetton wallet, in nanotons: the amount that x402's clients began with, and the
 * most that its facilitators accept.
 */
export const handedOn = 30_000_000n

/** The fields of an offer's `extra`. Servers in Python write `null` for an absent one. */
export interface Extra {
  readonly areFeesSponsored?: boolean
  readonly forwardTonAmount?: string | number
  readonly forwardPayload?: string
}

/** Their shapes. */
export const extraFields = {
  areFeesSponsored: /* @__PURE__ */ Shape.nullable(/* @__PURE__ */ Shape.oneOf([true, false])),
  forwardTonAmount: /* @__PURE__ */ Shape.nullable(/* @__PURE__ */ Shape.either(Shape.text, Shape.int)),
  forwardPayload: /* @__PURE__ */ Shape.nullable(Shape.text)
}

/** The forward payload of an offer: the form to write it in, or the obstacle where it is more than an empty one. */
export interface Forwarding {
  readonly emptyPayload: JettonTransfer.EmptyPayload | undefined
  /** Reason why the offer is neither paid nor settled here; the end of a sentence about it. */
  readonly obstacle: string | undefined
}

const obstructed = (obstacle: string): Forwarding => ({ emptyPayload: undefined, obstacle })

/**
 * The forward payload that an offer asks for. Forwarded TON would come from the payer's own wallet whenever a facilitator attaches
 * too little, to an account that the server names; it is refused, and so is a payload with content.
 */
export const forwardingOf = ({ areFeesSponsored, forwardPayload, forwardTonAmount }: Extra): Forwarding => {
  if (areFeesSponsored === false) return obstructed("does not sponsor the fees of a transfer")
  if (`${forwardTonAmount ?? "0"}` !== "0") return obstructed("forwards TON with the transfer")
  if (typeof forwardPayload !== "string") return { emptyPayload: "zero-bit", obstacle: undefined }
  const content = forwardPayload.length > TonBoc.maximumCharacters ? undefined : TonBoc.fromNode(forwardPayload)
  const empty = content && JettonTransfer.emptyPayloadOf(content)
  return empty === undefined
    ? obstructed("forwards a payload with the transfer")
    : { emptyPayload: empty.form, obstacle: undefined }
}
