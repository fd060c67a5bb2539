/** The checks of a payment against the token's state before its intake, and the number of requests that they take. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as EvmHex from "../../src/primitives/EvmHex.ts"
import { EvmTestChain } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Token from "../EvmTestToken.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

/** The payer of a test, by index. */
const payer = Effect.fnUntraced(function* (place: number) {
  const { accounts } = yield* chain
  const account = accounts.payers[place] ?? accounts.payers[0]
  return { account, deviation: { from: account.address, signer: account } }
})

const verified = Effect.fnUntraced(function* (deviation: Payment.Deviation) {
  const { verify } = yield* Payment.facilitator()
  return yield* Payment.outcome(Effect.flatMap(Payment.payment(deviation), verify))
})

describe("ExactEvmVerification", () => {
  layer(EvmTestChain.layer({ payers: 7, payerBalance: 10_000n }), { excludeTestServices: true })((it) => {
    it.effect("takes a payment of all that the payer has and none of a unit more", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* verified({}), "ok")
        const beyond = { signed: { value: 10_001n }, requirements: { maxAmountRequired: "10001" } }
        assert.strictEqual(yield* verified(beyond), "INSUFFICIENT_BALANCE balance_below_amount")
        const most = 2n ** 256n - 1n
        const everything = { signed: { value: most }, requirements: { maxAmountRequired: `${most}` } }
        assert.strictEqual(yield* verified(everything), "INSUFFICIENT_BALANCE balance_below_amount")
      })
    )

    it.effect("refuses an authorization that was settled without us", () =>
      Effect.gen(function* () {
        const { accounts, send } = yield* chain
        const { deviation } = yield* payer(1)
        const signed = yield* Payment.signedPayment(deviation)
        assert.strictEqual((yield* send({ from: accounts.stranger.address, ...signed.call })).status, "success")
        const { settle, verify } = yield* Payment.facilitator()
        assert.strictEqual(yield* Payment.outcome(verify(signed.request)), "already_used nonce_used")
        assert.strictEqual(
          yield* Payment.outcome(settle(signed.request, Payment.claim("late"))),
          "already_used nonce_used"
        )
      })
    )

    it.effect("refuses an authorization that was taken back", () =>
      Effect.gen(function* () {
        const { send } = yield* chain
        const { account, deviation } = yield* payer(2)
        const { authorization, request } = yield* Payment.signedPayment(deviation)
        assert.strictEqual((yield* send(yield* Token.cancellation(authorization, account))).status, "success")
        const { verify } = yield* Payment.facilitator()
        assert.strictEqual(yield* Payment.outcome(verify(request)), "already_used nonce_used")
      })
    )

    it.effect("refuses a payer whom the token blocks", () =>
      Effect.gen(function* () {
        const { account, deviation } = yield* payer(3)
        yield* Token.rule("blacklist", account.address)
        assert.strictEqual(yield* verified(deviation), "unsupported_authorization account_blocked")
        yield* Token.rule("unBlacklist", account.address)
        assert.strictEqual(yield* verified(deviation), "ok")
      })
    )

    it.effect("does not blame the payer for a token that is paused", () =>
      Effect.gen(function* () {
        yield* Token.rule("pause")
        assert.strictEqual(yield* verified({}), "ChainUnavailable")
        yield* Token.rule("unpause")
        assert.strictEqual(yield* verified({}), "ok")
      })
    )

    it.effect("tells the ends of the validity apart where the token has one word for both", () =>
      Effect.gen(function* () {
        const proxy = yield* RpcProxy.make
        const schemeFacilitator = yield* Payment.scheme(yield* chain, { rpcUrl: proxy.url })
        const now = yield* Payment.now
        yield* schemeFacilitator.verify(yield* Payment.read(schemeFacilitator, yield* Payment.payment()))
        for (const [validBefore, expected] of [
          [now - 1n, "EXPIRED_PAYMENT expired"],
          [now + 60n, "EXPIRED_PAYMENT not_yet_valid"]
        ] as const) {
          // ERC3009InvalidAuthorizationTime(uint256 validAfter, uint256 validBefore)
          const data = `0x4a931c17${EvmHex.toWord(0)}${EvmHex.toWord(validBefore)}`
          proxy.spoil("eth_call", RpcProxy.refusal(3, "execution reverted", data))
          const payment = yield* Payment.read(schemeFacilitator, yield* Payment.payment({ signed: { validBefore } }))
          assert.strictEqual(yield* Payment.outcome(schemeFacilitator.verify(payment)), expected)
        }
      })
    )

    it.effect("changes nothing: verified ten times, a payment still settles", () =>
      Effect.gen(function* () {
        const { deviation } = yield* payer(4)
        const { authorization, request } = yield* Payment.signedPayment(deviation)
        const { settle, verify } = yield* Payment.facilitator()
        yield* Effect.forEach(Array.from({ length: 10 }), () => verify(request), { concurrency: "unbounded" })
        assert.strictEqual(yield* Payment.timesUsed(authorization), 0)
        assert.strictEqual((yield* settle(request, Payment.claim("first"))).status, "included")
        assert.strictEqual(yield* Payment.timesUsed(authorization), 1)
        const other = yield* Payment.outcome(verify(request))
        assert.match(other, /^already_used 0x[0-9a-f]{64}$/)
      })
    )

    it.effect("asks one question for a plain payer, once the token is proven", () =>
      Effect.gen(function* () {
        const asked: Array<string> = []
        const { deviation } = yield* payer(5)
        const { settle, verify } = yield* Payment.facilitator({ onRequest: (method) => void asked.push(method) })
        const request = yield* Payment.payment(deviation)
        yield* verify(request)
        asked.length = 0
        yield* verify(request)
        assert.deepStrictEqual(asked, ["eth_call"])
        asked.length = 0
        yield* settle(request, Payment.claim("count"))
        const looks = asked.filter((method) => method === "eth_getTransactionReceipt")
        // The lane's worker has counted its slots when it began, and counts them itself since; what its signer owns it asks once.
        assert.deepStrictEqual(
          asked.filter((method) => method !== "eth_getTransactionReceipt"),
          [
            "eth_call",
            "eth_maxPriorityFeePerGas",
            "eth_getBlockByNumber",
            "eth_getBalance",
            "eth_sendRawTransaction",
            "eth_getBlockByNumber"
          ]
        )
        assert.isAtLeast(looks.length, 1)
        const another = yield* Payment.payment((yield* payer(6)).deviation)
        asked.length = 0
        yield* settle(another, Payment.claim("another"))
        assert.notInclude(asked, "eth_getBalance")
      })
    )

    it.effect(
      "asks nothing about a payment that its own terms refuse, and three things about a stranger's signature",
      () =>
        Effect.gen(function* () {
          const asked: Array<string> = []
          const { accounts } = yield* chain
          const { verify } = yield* Payment.facilitator({ onRequest: (method) => void asked.push(method) })
          yield* Payment.outcome(Effect.flatMap(Payment.payment(), verify))
          asked.length = 0
          yield* Payment.outcome(Effect.flatMap(Payment.payment({ signed: { value: 1n } }), verify))
          yield* Payment.outcome(Effect.flatMap(Payment.payment({ signed: { validBefore: 1n } }), verify))
          yield* Payment.outcome(Effect.flatMap(Payment.payment({ signature: () => "0x" + "6492".repeat(32) }), verify))
          assert.deepStrictEqual(asked, [])
          yield* Payment.outcome(Effect.flatMap(Payment.payment({ signer: accounts.stranger }), verify))
          assert.deepStrictEqual(asked, ["eth_getCode", "eth_blockNumber", "eth_getCode"])
        })
    )

    it.effect("asks nothing at all about what is refused without the chain, from the first payment on", () =>
      Effect.gen(function* () {
        const asked: Array<string> = []
        const schemeFacilitator = yield* Payment.scheme(yield* chain, {
          onRequest: (method) => void asked.push(method)
        })
        asked.length = 0
        for (const [expected, deviation] of [
          ["malformed signature_not_hexadecimal", { signature: () => "signed" }],
          ["malformed signature_too_long", { signature: () => `0x${"ab".repeat(4097)}` }],
          ["malformed payload_fields", { written: { nonce: "0x12" } }],
          ["malformed signature_erc6492", { signature: () => `0x${"6492".repeat(32)}` }],
          [
            "asset_mismatch asset_not_settled",
            { requirements: { asset: "0x1111111111111111111111111111111111111111" } }
          ],
          ["binding_mismatch nonce_not_bound", { ...Payment.bound(), signed: {} }]
        ] satisfies ReadonlyArray<readonly [string, Payment.Deviation]>) {
          const request = yield* Payment.payment(deviation)
          const verdict = Effect.flatMap(Payment.read(schemeFacilitator, request), (payment) =>
            schemeFacilitator.verify(payment)
          )
          assert.strictEqual(yield* Payment.outcome(verdict), expected)
        }
        assert.deepStrictEqual(asked, [])
      })
    )

    it.effect("asks once for a payer whose signatures are a stranger's, and not at all where no contract may pay", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const deviations: ReadonlyArray<readonly [string, Payment.Deviation]> = [
          ["INVALID_SIGNATURE payer_mismatch", { signer: accounts.stranger }],
          ["INVALID_SIGNATURE payer_mismatch", { signed: { value: 1n }, written: { value: "10000" } }],
          ["INVALID_SIGNATURE length", { signature: () => "0x" }],
          ["INVALID_SIGNATURE compact", { signature: () => `0x${"11".repeat(64)}` }],
          ["INVALID_SIGNATURE recovery_id", { signature: () => `0x${"11".repeat(65)}` }]
        ]
        for (const [contractPayers, expected] of [
          ["known", ["eth_getCode", "eth_blockNumber", "eth_getCode"]],
          ["any", ["eth_getCode", "eth_blockNumber", "eth_getCode"]],
          ["none", []]
        ] as const) {
          const asked: Array<string> = []
          const onRequest = (method: string) => void asked.push(method)
          const schemeFacilitator = yield* Payment.scheme(yield* chain, { contractPayers, onRequest })
          asked.length = 0
          for (const [word, deviation] of [...deviations, ...deviations]) {
            const payment = yield* Payment.read(schemeFacilitator, yield* Payment.payment(deviation))
            assert.strictEqual(yield* Payment.outcome(schemeFacilitator.verify(payment)), word)
          }
          assert.deepStrictEqual(asked, [...expected])
          yield* schemeFacilitator.verify(yield* Payment.read(schemeFacilitator, yield* Payment.payment()))
        }
      })
    )
  })
})
