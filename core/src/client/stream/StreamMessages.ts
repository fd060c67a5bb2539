/** The shop's messages about a metered stream, as a payer reads them: each is the shop's word, decoded and unproven. */
import * as Option from "effect/Option"
import * as Result from "effect/Result"

import * as Amount from "../../protocol/Amount.ts"
import * as Shape from "../../protocol/Shape.ts"

const amount = /* @__PURE__ */ Shape.guarded(
  Amount.expected,
  (value): value is string => typeof value === "string" && Amount.isText(value)
)

/** The request for a voucher: the event `payment-need-voucher`. */
export interface NeedVoucher {
  readonly channelId: string
  /** The least voucher with which the stream goes on. */
  readonly requiredCumulative: string
  /** The highest voucher that the shop has. */
  readonly acceptedCumulative: string
}

const needVoucher = /* @__PURE__ */ Shape.struct<NeedVoucher>({
  channelId: Shape.text,
  requiredCumulative: amount,
  acceptedCumulative: amount
})

/** The end of a stream: the event `payment-receipt`. */
export interface StreamReceipt {
  /** The channel's id. */
  readonly reference: string
  readonly status: "success"
  /** The charge of the whole stream. */
  readonly chargedAmount: string
  /** The number of units that were charged. */
  readonly units?: string
  /** Why the stream ended; absent where its handler did. */
  readonly end?: string
}

const receipt = /* @__PURE__ */ Shape.struct<StreamReceipt>({
  reference: Shape.text,
  status: /* @__PURE__ */ Shape.oneOf(["success"]),
  chargedAmount: amount,
  units: /* @__PURE__ */ Shape.optional(amount),
  end: /* @__PURE__ */ Shape.optional(Shape.text)
})

/** The answer to a voucher. */
export interface VoucherAnswer {
  readonly channelState: { readonly channelId: string; readonly chargedCumulativeAmount: string }
  readonly acceptedCumulative: string
  /** The transaction of the deposit that came with the voucher. */
  readonly transaction?: string
}

const answer = /* @__PURE__ */ Shape.struct<VoucherAnswer>({
  channelState: /* @__PURE__ */ Shape.struct<VoucherAnswer["channelState"]>({
    channelId: Shape.text,
    chargedCumulativeAmount: amount
  }),
  acceptedCumulative: amount,
  transaction: /* @__PURE__ */ Shape.optional(Shape.text)
})

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

const reading =
  <A>(shape: Shape.Shape<A>) =>
  (text: string | undefined): A | undefined =>
    text === undefined ? undefined : Result.getOrUndefined(Shape.read(shape, Option.getOrUndefined(parse(text))))

/** Reads a request for a voucher; `undefined` if it is malformed. */
export const readNeed = /* @__PURE__ */ reading(needVoucher)

/** Reads the end of a stream; `undefined` if it is malformed. */
export const readReceipt = /* @__PURE__ */ reading(receipt)

/** Reads the answer to a voucher; `undefined` if it is malformed. */
export const readAnswer = /* @__PURE__ */ reading(answer)
