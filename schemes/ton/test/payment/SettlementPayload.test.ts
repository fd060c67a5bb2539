/** x402's payloads and offers for TON: the forms that are read, and the terms of an offer. */
import { assert, describe, it } from "@effect/vitest"
import { beginCell, Cell } from "@ton/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import { ExactTon, TonAuthorization, TonBoc, TonNetwork, WalletRequest } from "../../src/index.ts"
import { TestJetton, TonTestAccounts } from "../../src/testing/index.ts"
import * as Forgery from "../TonForgery.ts"

const payer = TonTestAccounts.ofName("payer 0")
const payTo = Forgery.addressOf(TonTestAccounts.ofName("payee").raw)
const relayer = Forgery.addressOf(TonTestAccounts.ofName("relayer 0").raw)
const { jetton } = TestJetton.make("plain", TonTestAccounts.ofName("deployer").address)

const terms: ExactTon.Terms = { kinds: ["w5-internal"], responseDestination: relayer, maxInnerTon: 30_000_000n }

const body = Forgery.request({
  validUntil: 1_800_000_060,
  seqno: 0,
  actions: Forgery.actionOf(
    Forgery.message({
      to: Forgery.addressOf(jetton.walletOf(payer.address).toRawString()),
      value: 30_000_000n,
      body: Forgery.transfer({
        amount: 10_000n,
        queryId: 0n,
        to: payTo,
        responseTo: relayer,
        payload: Forgery.emptyPayloads["one zero bit"]
      })
    }),
    1
  ),
  seed: payer.seed
})

const good = Forgery.settlementPayload(payer, jetton.raw, body)

describe("a payload of x402", () => {
  it.effect("is read as a request whose payer is the wallet of its message", () =>
    Effect.gen(function* () {
      const message = yield* ExactTon.decodePayload(good)
      assert.deepStrictEqual(message, {
        kind: "w5-internal",
        boc: good.settlementBoc,
        from: undefined,
        asset: jetton.raw,
        binding: undefined
      })
      const read = Result.getOrThrow(TonAuthorization.read(message, terms))
      assert.strictEqual(read.payer, payer.raw)
      assert.strictEqual(read.request.mode, 1)
      assert.strictEqual(read.value, 30_000_000n)
      assert.deepStrictEqual(read.transfer, {
        queryId: 0n,
        amount: 10_000n,
        to: payTo,
        responseTo: relayer,
        emptyPayload: "zero-bit"
      })
    })
  )

  it.effect("is the same authorization as ours around the same request", () =>
    Effect.gen(function* () {
      const nonces = yield* Effect.forEach([good, Forgery.payload(payer, body)], (payload) =>
        Effect.map(ExactTon.decodePayload(payload), (message) =>
          Result.getOrThrow(TonAuthorization.read(message, terms))
        )
      )
      assert.strictEqual(nonces[0]?.nonce, nonces[1]?.nonce)
      assert.strictEqual(nonces[0]?.payer, nonces[1]?.payer)
    })
  )

  it.effect("need not bounce in its wrapper, which a relayer writes anew", () =>
    Effect.gen(function* () {
      const message = yield* ExactTon.decodePayload(
        Forgery.settlementPayload(payer, jetton.raw, body, { flags: 0b10000 })
      )
      assert.isTrue(Result.isSuccess(TonAuthorization.read(message, terms)))
    })
  )

  const bad: Readonly<Record<string, readonly [unknown, string]>> = {
    "has the fields of both forms": [{ ...Forgery.payload(payer, body), ...good }, "two_payloads"],
    "has a kind": [{ ...good, kind: "external" }, "two_payloads"],
    "has no asset": [{ settlementBoc: good.settlementBoc }, "payload_fields"],
    "has no message": [{ asset: jetton.raw }, "payload_fields"],
    "has a message that is no text": [{ ...good, settlementBoc: 7 }, "payload_fields"],
    "is that of the first draft": [
      { settlementBoc: good.settlementBoc, tokenMaster: jetton.raw, from: payer.raw },
      "payload_fields"
    ],
    "is a text": [good.settlementBoc, "payload_fields"],
    "is nothing": [null, "payload_fields"]
  }
  for (const [name, [payload, detail]] of Object.entries(bad)) {
    it.effect(`is malformed where it ${name}`, () =>
      Effect.map(Effect.flip(ExactTon.decodePayload(payload)), (error) => {
        assert.strictEqual(error.reason, "malformed")
        assert.strictEqual(error.detail, detail)
      })
    )
  }

  const external = Forgery.request({
    op: 0x7369676e,
    validUntil: 1_800_000_060,
    seqno: 0,
    actions: WalletRequest.actionsOf([]),
    seed: payer.seed
  })
  const badMessages: Readonly<Record<string, string>> = {
    "an external message": TonBoc.toBase64(beginCell().storeUint(0b1000, 4).endCell()),
    "a request for an external message": Forgery.settlementPayload(payer, jetton.raw, external).settlementBoc,
    "a wrapper that is a bounced message": Forgery.settlementPayload(payer, jetton.raw, body, { flags: 0b11100 })
      .settlementBoc,
    "a cell without content": TonBoc.toBase64(Cell.EMPTY),
    "no bag of cells": "te6cck=="
  }
  for (const [name, settlementBoc] of Object.entries(badMessages)) {
    it.effect(`is refused where it holds ${name}`, () =>
      Effect.map(ExactTon.decodePayload({ ...good, settlementBoc }), (message) =>
        assert.isTrue(Result.isFailure(TonAuthorization.read(message, terms)))
      )
    )
  }
})

const zeroBit = beginCell().storeBit(0).endCell().toBoc().toString("base64")

const offer = (extra: Readonly<Record<string, Schema.Json>>) =>
  ExactTon.termsOf({
    scheme: "exact",
    network: TonNetwork.mainnet,
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo,
    asset: jetton.raw,
    extra
  })

describe("an offer of x402", () => {
  it("takes x402's payload, with an empty forward payload in the form that it names", () => {
    const usual = offer({ areFeesSponsored: true })
    assert.isTrue(usual?.takesSettlement)
    assert.deepStrictEqual(usual?.kinds, ["w5-internal"])
    assert.strictEqual(usual?.emptyPayload, "zero-bit")
    assert.isUndefined(usual?.responseDestination)
    assert.isUndefined(usual?.obstacle)
    const published = offer({
      areFeesSponsored: true,
      forwardPayload: zeroBit,
      forwardTonAmount: "0",
      responseDestination: relayer
    })
    assert.strictEqual(published?.emptyPayload, "zero-bit")
    assert.strictEqual(published?.responseDestination, relayer)
    const empty = offer({ areFeesSponsored: true, forwardPayload: Cell.EMPTY.toBoc().toString("base64") })
    assert.isTrue(empty?.takesSettlement)
    assert.isUndefined(empty?.emptyPayload)
    assert.isUndefined(empty?.obstacle)
  })

  it("may write null for an absent field", () => {
    const sparse = offer({
      areFeesSponsored: true,
      forwardPayload: null,
      forwardTonAmount: null,
      responseDestination: null
    })
    assert.isTrue(sparse?.takesSettlement)
    assert.strictEqual(sparse?.emptyPayload, "zero-bit")
    assert.isUndefined(sparse?.obstacle)
  })

  it("is ours where it names kinds, whatever it says about fees", () => {
    const ours = offer({ areFeesSponsored: true, kinds: ["w5-internal"], responseDestination: relayer })
    assert.isFalse(ours?.takesSettlement)
    assert.isUndefined(ours?.emptyPayload)
    assert.isFalse(offer({ responseDestination: relayer })?.takesSettlement)
  })

  const obstacles: Readonly<Record<string, readonly [Readonly<Record<string, Schema.Json>>, RegExp]>> = {
    "does not sponsor fees": [{ areFeesSponsored: false }, /sponsor/],
    "forwards TON": [{ areFeesSponsored: true, forwardTonAmount: "50000000" }, /forwards TON/],
    "forwards TON in a number": [{ areFeesSponsored: true, forwardTonAmount: 1 }, /forwards TON/],
    "forwards less than nothing": [{ areFeesSponsored: true, forwardTonAmount: "-1" }, /forwards TON/],
    "forwards an invoice": [
      { areFeesSponsored: true, forwardPayload: beginCell().storeUint(7, 32).endCell().toBoc().toString("base64") },
      /payload/
    ],
    "forwards a bit that is set": [
      { areFeesSponsored: true, forwardPayload: beginCell().storeBit(1).endCell().toBoc().toString("base64") },
      /payload/
    ],
    "forwards no bag of cells": [{ areFeesSponsored: true, forwardPayload: "hello" }, /payload/],
    "forwards more than a message holds": [{ areFeesSponsored: true, forwardPayload: "A".repeat(8_193) }, /payload/],
    "forwards TON beside our kinds": [{ kinds: ["w5-internal"], forwardTonAmount: "1" }, /forwards TON/]
  }
  for (const [name, [extra, obstacle]] of Object.entries(obstacles)) {
    it(`is neither paid nor settled where it ${name}`, () => assert.match(offer(extra)?.obstacle ?? "", obstacle))
  }

  for (const extra of [
    { areFeesSponsored: "yes" },
    { areFeesSponsored: true, forwardTonAmount: 1.5 },
    { areFeesSponsored: true, forwardPayload: 7 },
    { areFeesSponsored: true, responseDestination: "nobody" }
  ]) {
    it(`is not read with ${JSON.stringify(extra)}`, () => assert.isUndefined(offer(extra)))
  }
})
