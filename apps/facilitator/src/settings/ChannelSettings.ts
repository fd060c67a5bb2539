/**
 * Settings of payment channels on EVM networks (x402's `batch-settlement`): signers of their own, the key that authorizes claims and
 * refunds for shops without one, and the terms of a network.
 */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import type * as CallerTerms from "../callers/CallerTerms.ts"
import { make, namesSet, PositiveAmount, type Range, type Values, whole } from "./EnvironmentVariable.ts"

/** Ranges of times in milliseconds. The contract lets a withdrawal wait for 30 days at most. */
const ranges = {
  poll: { minimum: 100, maximum: 30_000 },
  age: { minimum: 0, maximum: 2_592_000_000 }
}

const within = (range: Range) => Schema.optionalKey(Schema.Int.check(Schema.isBetween(range)))

/** The field `channels` of an entry of `PONTAGE_EVM`. */
export const Terms = Schema.Struct({
  minimumDeposit: Schema.optionalKey(PositiveAmount),
  pollMillis: within(ranges.poll),
  leastClaim: Schema.optionalKey(PositiveAmount),
  maximumUnclaimed: Schema.optionalKey(PositiveAmount),
  worthwhile: Schema.optionalKey(PositiveAmount),
  worthwhileAgeMillis: within(ranges.age),
  maximumAgeMillis: within(ranges.age),
  leastPayout: Schema.optionalKey(PositiveAmount)
})

/** The terms of channels on one network. */
export type ChannelTerms = typeof Terms.Type

/** When the channels of one network are claimed, by the names of `LocalFacilitator`'s option `channels`. */
export type ClaimTerms = Omit<ChannelTerms, "minimumDeposit">

/** The part of the terms by which channels are claimed. */
export const claimTermsOf = (terms: ChannelTerms): ClaimTerms => {
  const { minimumDeposit: _, ...claims } = terms
  return claims
}

const claimAmount = (name: string, meaning: string, example: string) =>
  make(
    `PONTAGE_EVM_CHANNEL_${name}`,
    `${meaning}, in the smallest unit of its token, above zero`,
    example,
    PositiveAmount
  )

/** When the channels of the one network are claimed. */
const claims = {
  pollMillis: whole(
    "PONTAGE_EVM_CHANNEL_POLL_MS",
    "milliseconds between two looks at the channels",
    ranges.poll,
    "30000"
  ),
  leastClaim: claimAmount("LEAST_CLAIM", "the unclaimed money of a channel below which it is never claimed", "10000"),
  maximumUnclaimed: claimAmount(
    "MAXIMUM_UNCLAIMED",
    "the unclaimed money of a channel that is claimed at once",
    "5000000"
  ),
  worthwhile: claimAmount("WORTHWHILE", "the unclaimed money of a channel that is claimed at some age", "50000"),
  worthwhileAgeMillis: whole("PONTAGE_EVM_CHANNEL_WORTHWHILE_AGE_MS", "milliseconds", ranges.age, "3600000"),
  maximumAgeMillis: whole("PONTAGE_EVM_CHANNEL_MAXIMUM_AGE_MS", "milliseconds", ranges.age, "86400000"),
  leastPayout: claimAmount("LEAST_PAYOUT", "the claimed money of a payee that is paid out at once", "50000")
}

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
export const tables = { evmChannelTerms: terms, evmChannelClaims: claims, evmChannels: keys }

/** Values of these variables. */
export interface ChannelValues {
  readonly evmChannelTerms: Values<typeof terms>
  readonly evmChannelClaims: Values<typeof claims>
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
export const termsOf = ({ evmChannelClaims, evmChannels, evmChannelTerms }: ChannelValues): ChannelTerms | undefined =>
  evmChannels.signerKey === undefined ? undefined : { ...evmChannelTerms, ...evmChannelClaims }

/** The names of the set variables that an entry of `PONTAGE_EVM` replaces. */
export const namesOfTerms = ({ evmChannelClaims, evmChannelTerms }: ChannelValues): ReadonlyArray<string> => [
  ...namesSet(terms, evmChannelTerms),
  ...namesSet(claims, evmChannelClaims)
]

/** The other keys and settings that contradict these. */
export interface Beside {
  /** `PONTAGE_EVM_SIGNER_KEY`. */
  readonly signerKey: string | undefined
  /** The fields `channels` of the entries of `PONTAGE_EVM`; `undefined` without entries. */
  readonly entries: ReadonlyArray<ChannelTerms> | undefined
  readonly callers: ReadonlyArray<CallerTerms.CallerTerms>
}

/** Contradictions between these variables, and to others. */
export const contradictions = (
  values: ChannelValues,
  { callers, entries, signerKey }: Beside
): ReadonlyArray<string> => {
  const own = values.evmChannels
  if (own.signerKey === undefined) {
    const mistakes = [...namesOfTerms(values), ...namesSet(keys, own)].map(
      (name) => `${name}: no payment channels are served without PONTAGE_EVM_CHANNEL_SIGNER_KEY; set that too`
    )
    return entries !== undefined && entries.length > 0
      ? [...mistakes, "PONTAGE_EVM: channels: no signer; set PONTAGE_EVM_CHANNEL_SIGNER_KEY too"]
      : mistakes
  }
  const mistakes: Array<string> = []
  if (entries?.length === 0) {
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
  if (own.authorizerKey === undefined) return [...mistakes, ...ledgerless(values, entries)]
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

/** Mistakes of terms of claims where no ledger is kept, so that nothing is claimed by them. */
const ledgerless = (
  { evmChannelClaims }: ChannelValues,
  entries: ReadonlyArray<ChannelTerms> = []
): ReadonlyArray<string> => {
  const fields = new Set(entries.flatMap((entry) => Object.keys(claimTermsOf(entry))))
  const names = [...namesSet(claims, evmChannelClaims), ...[...fields].map((field) => `PONTAGE_EVM: channels.${field}`)]
  return names.map(
    (name) =>
      `${name}: no ledger of payment channels is kept without PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY, and no shop's channels are claimed; set that too`
  )
}

const keysIn = (text: string | undefined): ReadonlyArray<string> => text?.toLowerCase().split(",") ?? []
