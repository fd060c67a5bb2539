/** Our messages are read by the peers' own schemas and codecs, not only by the fields that their roles use. */
import { assert, layer } from "@effect/vitest"
import * as T402Codec from "@t402/core/http"
import * as PeerCodec from "@x402/core/http"
import {
  PaymentPayloadV1Schema,
  PaymentPayloadV2Schema,
  PaymentRequiredV1Schema,
  PaymentRequiredV2Schema
} from "@x402/core/schemas"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { exact } from "x402/schemes"
import { PaymentRequirementsSchema, SupportedPaymentKindsResponseSchema } from "x402/types"

import * as Stage from "../src/behaviours/Stage.ts"
import { paths } from "../src/shops/Goods.ts"

class OpenStage extends Context.Service<OpenStage, Stage.Stage>()("OpenStage") {}

const at = (shop: Stage.Compared["shop"]) => Stage.compared.find((each) => each.shop === shop) ?? assert.fail(shop)

const refusal = Effect.fnUntraced(function* () {
  const { url } = yield* Stage.open(yield* OpenStage, at("koa"), "peer")
  const response = yield* Effect.promise(() => fetch(`${url}${paths.report}`))
  const body: unknown = yield* Effect.promise(() => response.json())
  return { header: response.headers.get("payment-required") ?? "", body }
})

const payment = (shop: "peer" | "legacy", header: string) =>
  Effect.gen(function* () {
    const { sign } = yield* Stage.open(yield* OpenStage, at(shop), "ours")
    const headers = yield* sign(paths.report)
    assert.deepStrictEqual(Object.keys(headers), [header])
    return headers[header] ?? ""
  })

layer(Layer.effect(OpenStage, Stage.make), { excludeTestServices: true, timeout: "60 seconds" })("messages", (it) => {
  it.effect("our refusal in version 2", () =>
    Effect.gen(function* () {
      const { header } = yield* refusal()
      const required = PaymentRequiredV2Schema.parse(PeerCodec.decodePaymentRequiredHeader(header))
      assert.strictEqual(required.accepts[0]?.amount, "10000")
      assert.deepStrictEqual<unknown>(T402Codec.decodePaymentRequiredHeader(header), required)
    })
  )

  it.effect("our refusal in version 1", () =>
    Effect.gen(function* () {
      const required = PaymentRequiredV1Schema.parse((yield* refusal()).body)
      const [option] = required.accepts.map((each) => PaymentRequirementsSchema.parse(each))
      assert.strictEqual(option?.network, "base-sepolia")
      assert.strictEqual(option?.maxAmountRequired, "10000")
    })
  )

  it.effect("our client's payment in version 2", () =>
    Effect.gen(function* () {
      const header = yield* payment("peer", "payment-signature")
      const sent = PaymentPayloadV2Schema.parse(PeerCodec.decodePaymentSignatureHeader(header))
      assert.strictEqual(sent.accepted.network, "eip155:84532")
      assert.deepStrictEqual<unknown>(T402Codec.decodePaymentSignatureHeader(header), sent)
    })
  )

  it.effect("our client's payment in version 1", () =>
    Effect.gen(function* () {
      const header = yield* payment("legacy", "x-payment")
      const sent = exact.evm.decodePayment(header)
      assert.strictEqual(sent.network, "base-sepolia")
      assert.deepStrictEqual<unknown>(PaymentPayloadV1Schema.parse(sent), sent)
    })
  )

  it.effect("a payment that the other peer's codec wrote", () =>
    Effect.gen(function* () {
      const { goods, send, sign } = yield* Stage.open(yield* OpenStage, at("koa"), "peer")
      const { "payment-signature": signed = "" } = yield* sign(paths.report)
      const header = T402Codec.encodePaymentSignatureHeader(T402Codec.decodePaymentSignatureHeader(signed))
      const { status } = yield* send(paths.report, { "payment-signature": header })
      assert.strictEqual(status, 200)
      assert.strictEqual(goods.runs[paths.report], 1)
    })
  )

  it.effect("the kinds that our facilitator supports", () =>
    Effect.gen(function* () {
      const { url } = (yield* OpenStage).front(at("koa"))
      const supported: unknown = yield* Effect.promise(async () => (await fetch(`${url}/supported`)).json())
      const { kinds } = SupportedPaymentKindsResponseSchema.parse(onlyVersion1(supported))
      assert.deepStrictEqual(
        kinds.map(({ network, scheme }) => `${scheme} ${network}`),
        ["exact base-sepolia"]
      )
    })
  )
})

const onlyVersion1 = (supported: unknown) => {
  const { kinds } = supported as { readonly kinds: ReadonlyArray<{ readonly x402Version?: number }> }
  return { kinds: kinds.filter(({ x402Version }) => x402Version === 1) }
}
