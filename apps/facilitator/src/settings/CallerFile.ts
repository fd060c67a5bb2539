/**
 * Callers in the settings: the JSON file `PONTAGE_CALLERS_FILE` and the short list `PONTAGE_API_KEYS`. A mistake is reported
 * by its place in the text, never with the value.
 */
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"

import * as ApiKey from "../callers/ApiKey.ts"
import { type CallerTerms, networkFromText, type RateTerms, type Registration } from "../callers/CallerTerms.ts"
import type { Rate } from "../callers/RateLimiter.ts"
import { placesOf } from "../http/SchemaPlaces.ts"
import * as WebhookTarget from "../webhooks/WebhookTarget.ts"

const pattern = (expression: RegExp) => Schema.String.check(Schema.isPattern(expression))
const addresses = Schema.Array(Schema.NonEmptyString)

/** `<requests a second>/<burst>`, for example `100/200`. */
export const RateText = pattern(/^[1-9][0-9]{0,5}\/[1-9][0-9]{0,5}$/)

/** An amount of a chain's smallest native unit. */
export const NativeAmountText = pattern(/^(0|[1-9][0-9]{0,29})$/)

const network = Schema.String.check(Schema.makeFilter((text) => networkFromText(text) !== undefined))

const CallerEntry = Schema.Struct({
  name: pattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
  keys: Schema.NonEmptyArray(pattern(ApiKey.hashedPattern)),
  operator: Schema.optionalKey(Schema.Boolean),
  networks: Schema.optionalKey(
    Schema.Record(
      network,
      Schema.Struct({ payees: Schema.optionalKey(addresses), assets: Schema.optionalKey(addresses) })
    )
  ),
  rate: Schema.optionalKey(RateText),
  payerRate: Schema.optionalKey(RateText),
  gasCeilings: Schema.optionalKey(Schema.Record(network, NativeAmountText)),
  webhook: Schema.optionalKey(
    Schema.Struct({
      url: Schema.String.check(Schema.makeFilter(WebhookTarget.isUrl)),
      secret: pattern(/^[\x21-\x7e]{16,}$/)
    })
  )
})

const CallersText = Schema.fromJsonString(Schema.Struct({ callers: Schema.NonEmptyArray(CallerEntry) }))

const apiKey = Schema.Union([pattern(ApiKey.plainPattern), pattern(ApiKey.hashedPattern)])

/** The text of `PONTAGE_API_KEYS`: keys, plain or by digest, each alone or with its payees. */
export const ApiKeysText = Schema.fromJsonString(
  Schema.NonEmptyArray(
    Schema.Union([apiKey, Schema.Struct({ key: apiKey, payees: Schema.NonEmptyArray(Schema.NonEmptyString) })])
  )
)

/** The callers of `PONTAGE_API_KEYS`. Each is named after its key. */
export const fromApiKeys = (entries: typeof ApiKeysText.Type, rates: RateTerms): ReadonlyArray<CallerTerms> =>
  entries.map((entry) => {
    const key = ApiKey.fromText(typeof entry === "string" ? entry : entry.key)
    return {
      name: ApiKey.nameOf(key),
      keys: [key],
      rates,
      ...(typeof entry !== "string" && { registrations: [{ payees: entry.payees }] })
    }
  })

const decode = Schema.decodeUnknownResult(CallersText, { errors: "all", onExcessProperty: "error" })

/** The callers of a file's text, or its mistakes. */
export const fromText = (
  text: string,
  rates: RateTerms
): Result.Result<ReadonlyArray<CallerTerms>, ReadonlyArray<string>> =>
  Result.mapBoth(decode(text), {
    onSuccess: ({ callers }) => callers.map((entry) => termsOf(entry, rates)),
    onFailure: ({ issue }) => mistakesOf(issue)
  })

const mistakesOf = (issue: SchemaIssue.Issue): ReadonlyArray<string> =>
  placesOf(issue).map(({ name, problem }) =>
    name === "" ? "the file is not a JSON object with a list of callers" : `${name}${problem}`
  )

const termsOf = (entry: typeof CallerEntry.Type, rates: RateTerms): CallerTerms => ({
  name: entry.name,
  keys: entry.keys.map(ApiKey.fromText),
  operator: entry.operator ?? false,
  rates: {
    rate: entry.rate === undefined ? rates.rate : rateOf(entry.rate),
    payerRate: entry.payerRate === undefined ? rates.payerRate : rateOf(entry.payerRate)
  },
  ...(entry.networks !== undefined && { registrations: registrationsOf(entry.networks) }),
  ...(entry.gasCeilings !== undefined && { gasCeilings: amountsOf(entry.gasCeilings) }),
  ...(entry.webhook !== undefined && {
    webhook: { url: Redacted.make(entry.webhook.url), secret: Redacted.make(entry.webhook.secret) }
  })
})

const registrationsOf = (
  networks: Readonly<Record<string, Omit<Registration, "network">>>
): ReadonlyArray<Registration> => {
  const registrations: Array<Registration> = []
  for (const [network, terms] of Object.entries(networks)) registrations.push({ network, ...terms })
  return registrations
}

/** Amounts by canonical networks: a ceiling under another name would not limit. */
const amountsOf = (amounts: Readonly<Record<string, string>>): ReadonlyMap<string, bigint> =>
  new Map(Object.entries(amounts).map(([text, amount]) => [networkFromText(text) ?? text, BigInt(amount)]))

/** The rate of a valid text. */
export const rateOf = (text: string): Rate => {
  const [perSecond, burst] = text.split("/")
  return { perSecond: Number(perSecond), burst: Number(burst) }
}

/** Contradictions between callers: two of one name, or two with one key. */
export const clashes = (callers: ReadonlyArray<CallerTerms>): ReadonlyArray<string> => {
  const keys = callers.flatMap((caller) => caller.keys.map((key) => ({ name: caller.name, key })))
  return [
    ...repeated(callers.map(({ name }) => name)).map((name) => `two callers have the name ${name}`),
    ...keys.flatMap(({ key, name }, index) =>
      keys.slice(0, index).some((other) => ApiKey.isSame(other.key, key))
        ? [`${name} has a key that is given twice`]
        : []
    )
  ]
}

const repeated = (names: ReadonlyArray<string>) => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index))
]
