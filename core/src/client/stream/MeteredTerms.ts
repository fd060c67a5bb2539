/**
 * The terms of a metered stream, as a payer reads them in an offer (`extra.metered`): the shop's word, bounded before anything is
 * signed by it. An offer without readable terms is declined, because its stream could not be followed within the limits.
 */
import * as Result from "effect/Result"

import * as Amount from "../../protocol/Amount.ts"
import * as Shape from "../../protocol/Shape.ts"
import * as AsciiJson from "../../wire/http/AsciiJson.ts"
import { decline, type PaymentDeclined } from "../PaymentDeclined.ts"
import { type Allowed, type Quote, spendingsOf } from "../PaymentPolicy.ts"
import * as Spending from "../Spending.ts"
import * as StreamLimit from "./StreamLimit.ts"

/** The terms. Amounts are in the smallest unit of the asset. */
export interface MeteredTerms {
  /** The unit that is sold: `token`, `byte`, `second`, `event`, or a word of the shop's. */
  readonly unit: string
  /** The price of one unit. */
  readonly tick: bigint
  /** The amount of each voucher after the first one. */
  readonly window: bigint
  /** Where further vouchers are posted, on the shop's origin. */
  readonly voucherUrl: string
  /** Seconds that the stream waits for a voucher. */
  readonly idleSeconds: number
}

interface Written {
  readonly unit: string
  readonly tick: string
  readonly window: string
  readonly voucherUrl: string
  readonly idleSeconds?: number
}

const amount = /* @__PURE__ */ Shape.guarded(
  Amount.expected,
  (value): value is string => typeof value === "string" && Amount.isText(value)
)

const unitGrammar = /^[\x20-\x7e]{1,64}$/
const longestUrl = 2048
const longestIdle = 3600
const usualIdle = 30

const written = /* @__PURE__ */ Shape.struct<Written>({
  unit: /* @__PURE__ */ Shape.guarded(
    "a word of at most 64 printable ASCII characters",
    (value): value is string => typeof value === "string" && unitGrammar.test(value)
  ),
  tick: amount,
  window: amount,
  voucherUrl: /* @__PURE__ */ Shape.guarded(
    `a URL of at most ${longestUrl} characters`,
    (value): value is string => typeof value === "string" && value !== "" && value.length <= longestUrl
  ),
  idleSeconds: /* @__PURE__ */ Shape.optional(
    /* @__PURE__ */ Shape.guarded(
      `a whole number of 1 to ${longestIdle} seconds`,
      (value): value is number => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= longestIdle
    )
  )
})

/** The terms of an offer; the fault for people, or `undefined` if the offer is of no metered stream. */
const read = ({ requirements, url }: Quote): MeteredTerms | string | undefined => {
  const given = requirements.extra?.["metered"]
  if (given === undefined) return undefined
  const terms = Shape.read(written, given)
  if (Result.isFailure(terms)) return terms.failure
  const { idleSeconds = usualIdle, tick, unit, voucherUrl, window } = terms.success
  const { href, origin } = new URL(url)
  const target = URL.canParse(voucherUrl, href) ? new URL(voucherUrl, href) : undefined
  if (target?.origin !== origin || target.username !== "" || target.password !== "") {
    return `vouchers would go to ${AsciiJson.quoted(voucherUrl)}, and only a URL of ${origin} is accepted`
  }
  const [price, allowance] = [BigInt(tick), BigInt(window)]
  if (price === 0n) return "a unit costs nothing"
  if (price > allowance) return `a unit costs ${tick}, and a window of ${window} does not pay for it`
  return { unit, tick: price, window: allowance, voucherUrl: target.href, idleSeconds }
}

/** The terms of an offer that is accepted; `undefined` if it is of no metered stream. */
export const of = (quote: Quote): MeteredTerms | undefined => {
  const terms = read(quote)
  return typeof terms === "string" ? undefined : terms
}

/** The reason against an offer of a metered stream: its terms cannot be read, or a window is more than a request or a stream may cost. */
export const objection = ({ limits, quote }: Allowed): PaymentDeclined | undefined => {
  const terms = read(quote)
  const { host } = new URL(quote.url)
  if (typeof terms === "string") {
    return decline("terms_unsupported", `${host} offers a metered stream whose terms are refused: ${terms}`)
  }
  if (terms === undefined) return undefined
  const [own, dollars = own] = spendingsOf({ amount: terms.window, asset: quote.asset })
  for (const { counts, option, perRequest } of limits) {
    const window = counts === "asset" ? own : dollars
    if (perRequest !== undefined && Spending.isAbove(window, perRequest)) {
      const message = `${host} asks ${Spending.format(window)} for each window of a stream; the limit is ${Spending.format(perRequest)}; raise ${option}.perRequest to allow it`
      return decline("over_request_limit", message)
    }
  }
  return StreamLimit.objection({ limits, quote })
}
