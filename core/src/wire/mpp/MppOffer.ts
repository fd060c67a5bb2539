/**
 * The contents of a seller's challenges: the options of a refusal that are charges of the protocol, and the parameters of each.
 */
import * as DateTime from "effect/DateTime"

import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import { defaultMaxTimeoutSeconds, type PaymentRequirements } from "../../protocol/PaymentRequirements.ts"

/** A challenge without what differs between responses: the beginning of its id, and its end. */
export interface OfferedCharge {
  /** The offer's challenge, which the id ends with. */
  readonly challenge: string
  readonly realm: string
  /** The keys are in the order of their UTF-16 units, as JCS (RFC 8785) wants them. */
  readonly request: {
    readonly amount: string
    readonly currency: string
    readonly methodDetails: { readonly chainId: number; readonly credentialTypes: ReadonlyArray<string> }
    readonly recipient: string
  }
  readonly seconds: number
}

/** Whether the protocol has a method for an option: a transfer authorization on an EVM chain. */
export const isCharge = (scheme: string, network: string, extra: PaymentRequirements["extra"] = {}): boolean =>
  scheme === "exact" &&
  /^eip155:[1-9]\d{0,15}$/.test(network) &&
  (extra["assetTransferMethod"] ?? "eip3009") === "eip3009"

/**
 * The charges of a refusal. A payment that may still count gets none: peers' clients sign again for every challenge.
 */
export const challenges = (
  { accepts, retry = "new_payment" }: PaymentRequired,
  realm: string | undefined
): ReadonlyArray<OfferedCharge> =>
  realm === undefined || retry !== "new_payment" ? [] : accepts.flatMap((requirements) => chargeOf(requirements, realm))

const chargeOf = (
  { asset = "", extra, maxAmountRequired, maxTimeoutSeconds, network, payTo, scheme }: PaymentRequirements,
  realm: string
): ReadonlyArray<OfferedCharge> => {
  const challenge = extra?.["challenge"]
  if (typeof challenge !== "string" || !isCharge(scheme, network, extra)) return []
  const methodDetails = { chainId: Number(network.slice("eip155:".length)), credentialTypes: ["authorization"] }
  const request = { amount: maxAmountRequired, currency: asset, methodDetails, recipient: payTo }
  return [{ challenge, realm, request, seconds: maxTimeoutSeconds ?? defaultMaxTimeoutSeconds }]
}

/** The method and the intent of every challenge. */
export const charge = { method: "evm", intent: "charge" } as const

/** The parameters of a challenge before its request. */
export const parameters = ({ challenge, realm }: OfferedCharge, retryToken: string) => ({
  id: `${retryToken}${challenge}`,
  realm,
  ...charge
})

/** The latest second that was written, and its text up to the milliseconds: a shop writes the time of every unpaid response. */
let latest = { second: Number.NaN, text: "" }

/** An instant in Unix milliseconds as RFC 3339 writes it, in UTC with milliseconds. */
export const instant = (millis: number): string => {
  const second = Math.floor(millis / 1000)
  if (second !== latest.second) {
    latest = { second, text: DateTime.formatIso(DateTime.makeUnsafe(second * 1000)).slice(0, -"000Z".length) }
  }
  return `${latest.text}${`${Math.trunc(millis - second * 1000)}`.padStart(3, "0")}Z`
}
