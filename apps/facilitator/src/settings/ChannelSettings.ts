/**
 * Settings of payment channels on EVM networks (x402's `batch-settlement`): signers of their own, the key that authorizes claims and
 * refunds for shops without one, and the terms of a network.
 */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import type * as CallerTerms from "../callers/CallerTerms.ts"
import { make, namesSet, PositiveAmount, type Values } from "./EnvironmentVariable.ts"

/** The field `channels` of an entry of `PONTAGE_EVM`. */
export const Terms = Schema.Struct({ minimumDeposit: Schema.optionalKey(PositiveAmount) })

/** The terms of channels on one network. */
export type ChannelTerms = typeof Terms.Type

/** The terms of the one network that has variables of its own. */
const terms = {
  minimumDeposit: make(
    "PONTAGE_EVM_CHANNEL_MINIMUM_DEPOSIT",
    "the least deposit into a payment channel, in the smallest unit of its token, above zero",
    "10000",
    PositiveAmount
  )
}

/** The keys, for all networks. */
const keys = {
  signerKey: make(
    "PONTAGE_EVM_CHANNEL_SIGNER_KEY",
    "the private key that pays for the gas of payment channels, 0x and 64 hexadecimal digits, or several separated by commas",
    "0x<64 hexadecimal digits>",
    Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{64}(,0x[0-9a-fA-F]{64})*$/))
  ),
  authorizerKey: make(
    "PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY",
    "the private key that authorizes claims and refunds for shops without one, 0x and 64 hexadecimal digits",
    "0x<64 hexadecimal digits>",
    Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{64}$/))
  )
}

/** The variables. */
export const tables = { evmChannelTerms: terms, evmChannels: keys }

/** Values of these variables. */
export interface ChannelValues {
  readonly evmChannelTerms: Values<typeof terms>
  readonly evmChannels: Values<typeof keys>
}

/** The keys of payment channels. */
export interface ChannelKeys {
  readonly signers: ReadonlyArray<Redacted.Redacted>
  /** Absent where each shop signs its claims and refunds itself. */
  readonly authorizer?: Redacted.Redacted
}

/** The keys of these values; `undefined` where no channels are served. */
export const keysOf = ({ evmChannels: { authorizerKey, signerKey } }: ChannelValues): ChannelKeys | undefined =>
  signerKey === undefined
    ? undefined
    : {
        signers: signerKey.split(",").map((key) => Redacted.make(key)),
        ...(authorizerKey !== undefined && { authorizer: Redacted.make(authorizerKey) })
      }

/** The terms of the one network; `undefined` where no channels are served. */
export const termsOf = ({ evmChannels, evmChannelTerms }: ChannelValues): ChannelTerms | undefined =>
  evmChannels.signerKey === undefined ? undefined : evmChannelTerms

/** The names of the set variables that an entry of `PONTAGE_EVM` replaces. */
export const namesOfTerms = ({ evmChannelTerms }: ChannelValues): ReadonlyArray<string> =>
  namesSet(terms, evmChannelTerms)

/** The other keys and settings that contradict these. */
export interface Beside {
  /** `PONTAGE_EVM_SIGNER_KEY`. */
  readonly signerKey: string | undefined
  /** Whether an entry of `PONTAGE_EVM` has the field `channels`; `undefined` without entries. */
  readonly hasEntry: boolean | undefined
  readonly callers: ReadonlyArray<CallerTerms.CallerTerms>
}

/** Contradictions between these variables, and to others. */
export const contradictions = (
  values: ChannelValues,
  { callers, hasEntry, signerKey }: Beside
): ReadonlyArray<string> => {
  const own = values.evmChannels
  if (own.signerKey === undefined) {
    const mistakes = [...namesOfTerms(values), ...namesSet(keys, own)].map(
      (name) => `${name}: no payment channels are served without PONTAGE_EVM_CHANNEL_SIGNER_KEY; set that too`
    )
    return hasEntry === true
      ? [...mistakes, "PONTAGE_EVM: channels: no signer; set PONTAGE_EVM_CHANNEL_SIGNER_KEY too"]
      : mistakes
  }
  const mistakes: Array<string> = []
  if (hasEntry === false) {
    mistakes.push(
      'PONTAGE_EVM_CHANNEL_SIGNER_KEY: no entry of PONTAGE_EVM serves payment channels; give one the field "channels":{}'
    )
  }
  const settling = keysIn(signerKey)
  const sending = keysIn(own.signerKey)
  if (sending.some((key) => settling.includes(key))) {
    mistakes.push(
      "PONTAGE_EVM_CHANNEL_SIGNER_KEY: one of the keys is in PONTAGE_EVM_SIGNER_KEY too; each scheme numbers the transactions of its own signers"
    )
  }
  if (own.authorizerKey === undefined) return mistakes
  const [lent = ""] = keysIn(own.authorizerKey)
  if (settling.includes(lent) || sending.includes(lent)) {
    mistakes.push("PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: the key also sends transactions; give it one of its own")
  }
  if (!callers.some(({ registrations = [] }) => registrations.some(({ payees }) => payees !== undefined))) {
    mistakes.push(
      "PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: it signs only for callers with registered payees, and there are none; register payees, or leave it out so that each shop signs itself"
    )
  }
  return mistakes
}

const keysIn = (text: string | undefined): ReadonlyArray<string> => text?.toLowerCase().split(",") ?? []
