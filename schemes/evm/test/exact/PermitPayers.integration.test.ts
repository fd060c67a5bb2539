/** Payments by Permit2 through x402's proxy, with the published bytes of both: in the shapes of the dollar tokens. */
import { assert, describe, layer } from "@effect/vitest"
import { PaymentPayload } from "@pontage/core"
import * as Effect from "effect/Effect"
import { type Address, encodeFunctionData, type Hex } from "viem"

import { exactEvm } from "../../src/index.ts"
import {
  ChildToken,
  DaiToken,
  DollarToken,
  Erc1271Wallet,
  EvmTestChain,
  FeeToken,
  Permit2Contracts,
  SilentToken
} from "../../src/testing/index.ts"
import type { CustomAsset } from "../../src/transfer/EvmAsset.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Permit from "../PermitTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

const payerOf = Effect.map(chain, ({ accounts }) => accounts.payers[0])

/** Permit2 and its proxy on the chain, a facilitator that serves them, and a token of USDT's shape. */
const ready = Effect.gen(function* () {
  const one = yield* chain
  yield* Permit2Contracts.deploy(one)
  const payer = yield* payerOf
  const plain = yield* Permit.plainToken(payer.address)
  const assets: ReadonlyArray<CustomAsset> = [{ network: one.network, address: plain, symbol: "PUSD", decimals: 6 }]
  const facilitator = (options: Payment.FacilitatorOptions & { readonly settleTimeoutMillis?: number } = {}) =>
    Payment.facilitatorOf({ permit2: true, ...options }, assets)
  return { plain, payer, facilitator }
})

const bitOf = Effect.fnUntraced(function* (owner: Address, nonce: bigint) {
  const { client } = yield* chain
  const word = yield* Effect.promise(() =>
    client.readContract({
      address: Permit2Contracts.published.permit2,
      abi: Permit.abi,
      functionName: "nonceBitmap",
      args: [owner, nonce >> 8n]
    })
  )
  return (word >> (nonce & 255n)) & 1n
})

/** The amount that Permit2 may move of an account's token. */
const allowanceOf = Effect.fnUntraced(function* (owner: Address, token?: Address) {
  const one = yield* chain
  const args = [owner, Permit2Contracts.published.permit2] as const
  const call = { address: token ?? one.token.address, abi: DollarToken.abi, functionName: "allowance", args } as const
  return yield* Effect.promise(() => one.client.readContract(call))
})

/** The number of transactions that the facilitator has sent. */
const sentCount = Effect.gen(function* () {
  const { accounts, client } = yield* chain
  const counts = accounts.signers.map(({ address }) => client.getTransactionCount({ address }))
  return (yield* Effect.promise(() => Promise.all(counts))).reduce((sum, count) => sum + count, 0)
})

const invalidation = (nonce: bigint) => ({
  to: Permit2Contracts.published.permit2,
  data: encodeFunctionData({
    abi: Permit.abi,
    functionName: "invalidateUnorderedNonces",
    args: [nonce >> 8n, 1n << (nonce & 255n)]
  })
})

describe("a payment by Permit2", () => {
  layer(EvmTestChain.layer({ payers: 4 }), { excludeTestServices: true })((it) => {
    it.effect("settles in a token of USDT's shape, once, and its bit is used then", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { facilitator, payer, plain } = yield* ready
        yield* Permit2Contracts.approve(one, payer.address, plain)
        const { settle, verify } = yield* facilitator()
        const { fields, request } = yield* Permit.signed({ token: plain })
        assert.strictEqual(yield* Payment.outcome(verify(request)), "ok")
        const settled = yield* settle(request, Payment.claim("one"))
        assert.strictEqual(settled.status, "included")
        assert.strictEqual(yield* one.balanceOf(one.accounts.payee.address, plain), 10_000n)
        assert.strictEqual(yield* bitOf(payer.address, fields.nonce), 1n)
        const again = yield* settle(request, Payment.claim("two"))
        assert.strictEqual(again.transaction, settled.transaction)
        assert.strictEqual(again.execution, "held")
        const fresh = yield* facilitator()
        assert.strictEqual(yield* Payment.outcome(fresh.verify(request)), "already_used nonce_used")
      })
    )

    it.effect("brings its own approval by signature (EIP-2612), for a payer who has none and owns no coin", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { facilitator } = yield* ready
        const [, payer = one.accounts.payers[0]] = one.accounts.payers
        const { settle, verify } = yield* facilitator()
        const bare = yield* Permit.request({ payer })
        assert.strictEqual(yield* Payment.outcome(verify(bare)), "unsupported_authorization allowance_below_amount")
        const before = yield* one.balanceOf(payer.address)
        const request = yield* Permit.request({ payer, approval: {} })
        const done = yield* settle(request, Payment.claim("one"))
        assert.strictEqual(done.status, "included")
        assert.strictEqual(yield* one.balanceOf(payer.address), before - 10_000n)
      })
    )

    it.effect("that brings an approval waits for the payer's other payments, so none reverts for a used approval", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { facilitator, payer: other } = yield* ready
        const [, , payer = one.accounts.payers[0]] = one.accounts.payers
        const { settle } = yield* facilitator()
        const requests = yield* Effect.forEach([1, 2, 3], () => Permit.request({ payer, approval: {} }))
        const before = yield* sentCount
        const paid = yield* Effect.raceAll(
          requests.map((request, index) => settle(request, Payment.claim(`beside ${index}`)))
        )
        assert.strictEqual(paid.status, "included")
        // The lane sends what it has before a later payment.
        yield* Permit2Contracts.approve(one, other.address)
        const later = yield* settle(yield* Permit.request({ payer: other }), Payment.claim("later"))
        assert.strictEqual(later.status, "included")
        assert.strictEqual((yield* sentCount) - before, 2)
      })
    )

    it.effect("that brings an approval which it does not need leaves the payer's approval as it is", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { facilitator } = yield* ready
        const [, , , payer = one.accounts.payers[0]] = one.accounts.payers
        yield* Permit2Contracts.approve(one, payer.address)
        const { settle } = yield* facilitator()
        const first = yield* settle(yield* Permit.request({ payer, approval: {} }), Payment.claim("alone"))
        assert.strictEqual(first.status, "included")
        assert.isTrue((yield* allowanceOf(payer.address)) > 2n ** 255n)
        const requests = [
          yield* Permit.request({ payer, approval: {} }),
          yield* Permit.request({ payer }),
          yield* Permit.request({ payer, approval: {} })
        ]
        const paid = yield* Effect.forEach(
          requests,
          (request, index) => settle(request, Payment.claim(`together ${index}`)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          paid.map(({ status }) => status),
          ["included", "included", "included"]
        )
        assert.isTrue((yield* allowanceOf(payer.address)) > 2n ** 255n)
      })
    )

    it.effect("waits while an approval that the payer needs is on its way, and settles by what is approved then", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { payer } = yield* ready
        yield* Permit2Contracts.approve(one, payer.address, one.token.address, 9_999n)
        const scheme = yield* Payment.scheme(one, { permit2: true })
        const approving = yield* Payment.read(scheme, yield* Permit.request({ approval: {} }))
        yield* scheme.verify(approving)
        const plain = yield* Payment.read(
          scheme,
          yield* Permit.request({ signed: { amount: 9_999n }, requirements: { maxAmountRequired: "9999" } })
        )
        // The first reserves 10 000 of the payer's balance: with that, 9 999 do not cover the second.
        assert.strictEqual(yield* scheme.balance(plain), 9_999n)
        assert.strictEqual(yield* scheme.balance(approving), 10_000n)
        const seen = yield* Payment.sendAlone(scheme, approving, yield* Payment.prepareAlone(scheme, approving))
        assert.strictEqual(seen._tag, "Settled")
        assert.strictEqual(yield* scheme.balance(plain), 0n)
        // An approval that another payment has to wait for is not needed any more once the payer has approved.
        const late = yield* Payment.read(scheme, yield* Permit.request({ approval: {} }))
        yield* scheme.verify(late)
        yield* Permit2Contracts.approve(one, payer.address, one.token.address, 50_000n)
        assert.strictEqual(yield* scheme.balance(late), 50_000n)
        const sent = yield* Payment.sendAlone(scheme, late, yield* Payment.prepareAlone(scheme, late))
        assert.strictEqual(sent._tag, "Settled")
        assert.strictEqual(yield* allowanceOf(payer.address), 40_000n)
      })
    )

    for (const [shape, artifact, decimals] of [
      ["DAI", DaiToken, 18],
      ["a token that logs what is left of an approval behind its transfer", ChildToken, 6]
    ] as const) {
      it.effect(`settles after a plain approval in a token of the shape of ${shape}`, () =>
        Effect.gen(function* () {
          const one = yield* chain
          const { payer } = yield* ready
          const token = yield* one.deploy(artifact)
          const args = [payer.address, 1_000_000n] as const
          yield* one.send({ to: token, data: encodeFunctionData({ abi: artifact.abi, functionName: "mint", args }) })
          const assets: ReadonlyArray<CustomAsset> = [{ network: one.network, address: token, symbol: "DAI", decimals }]
          const { settle, verify } = yield* Payment.facilitatorOf({ permit2: true }, assets)
          const bare = yield* Permit.request({ token })
          assert.strictEqual(yield* Payment.outcome(verify(bare)), "unsupported_authorization allowance_below_amount")
          yield* Permit2Contracts.approve(one, payer.address, token, 15_000n)
          assert.strictEqual((yield* settle(bare, Payment.claim("one"))).status, "included")
          assert.strictEqual(yield* one.balanceOf(one.accounts.payee.address, token), 10_000n)
          assert.strictEqual(yield* allowanceOf(payer.address, token), 5_000n)
        })
      )
    }

    it.effect("with an approval by EIP-2612 in a token of DAI's shape is refused before anything is sent", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { payer } = yield* ready
        const token = yield* one.deploy(DaiToken)
        const args = [payer.address, 1_000_000n] as const
        yield* one.send({ to: token, data: encodeFunctionData({ abi: DaiToken.abi, functionName: "mint", args }) })
        // The operator has the token's domain right, and takes its permits for those of EIP-2612.
        const asset = { network: one.network, address: token, symbol: "DAI", decimals: 18, name: "Dai Stablecoin" }
        const assets: ReadonlyArray<CustomAsset> = [{ ...asset, version: "1", assetTransferMethod: "permit2" }]
        const { verify } = yield* Payment.facilitatorOf({ permit2: true }, assets)
        const schemeClient = exactEvm.client({
          signer: exactEvm.localSigner(one.accounts.payers[0].privateKey),
          network: one.network,
          assets,
          rpcUrl: one.rpcUrl
        })
        const extra = { assetTransferMethod: "permit2", permit2: {} }
        const requirements = { ...(yield* Payment.requirements), asset: token, extra }
        const known = schemeClient.asset(requirements)
        assert.isDefined(known)
        const validBefore = Number(yield* Payment.latestTime) + 60
        const signed = yield* schemeClient.sign({
          requirements,
          asset: known,
          validAfter: 0,
          validBefore,
          binding: undefined
        })
        assert.property(signed.payload, "eip2612GasSponsoring")
        const paymentPayload = PaymentPayload.sealPayload("exact", one.network, signed.payload)
        const request = { paymentPayload, paymentRequirements: requirements }
        assert.strictEqual(yield* Payment.outcome(verify(request)), "unsupported_authorization allowance_below_amount")
      })
    )

    it.effect("of an account with code is validated by that code (ERC-1271)", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { facilitator, payer: owner } = yield* ready
        const wallet = yield* one.deploy(Erc1271Wallet, [owner.address])
        yield* one.mint(wallet, 1_000_000n)
        yield* Permit2Contracts.approve(one, wallet)
        const payer = { address: wallet, signTypedData: owner.signTypedData }
        const request = yield* Permit.request({ payer })
        const { settle } = yield* facilitator({ contractPayers: "any" })
        assert.strictEqual((yield* settle(request, Payment.claim("one"))).status, "included")
        const strict = yield* facilitator({ contractPayers: "none" })
        const other = yield* Permit.request({ payer })
        assert.match(yield* Payment.outcome(strict.verify(other)), /^INVALID_SIGNATURE/)
      })
    )

    it.effect("is refused by the rule that it breaks, before anything is sent", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { facilitator, payer, plain } = yield* ready
        yield* Permit2Contracts.approve(one, payer.address)
        yield* Permit2Contracts.approve(one, payer.address, plain)
        const { verify } = yield* facilitator()
        const stranger = one.accounts.stranger.address
        const time = yield* Payment.latestTime
        const { permit2 } = Permit2Contracts.published
        const cases: ReadonlyArray<readonly [Permit.PermitDeviation, string]> = [
          [{ signed: { spender: stranger } }, "unsupported_authorization permit_spender"],
          [{ written: { spender: stranger } }, "unsupported_authorization permit_spender"],
          [
            { written: { witness: { to: one.accounts.payee.address, validAfter: "1" } } },
            "INVALID_SIGNATURE payer_mismatch"
          ],
          [{ written: { nonce: "7" } }, "INVALID_SIGNATURE payer_mismatch"],
          [{ signed: { to: stranger } }, "INVALID_RECIPIENT other_recipient"],
          [{ signed: { token: plain }, requirements: { asset: one.token.address } }, "asset_mismatch permit_token"],
          [{ signed: { amount: 9_999n } }, "amount_mismatch other_amount"],
          [{ signed: { deadline: time - 1n } }, "EXPIRED_PAYMENT expired"],
          [{ signed: { validAfter: time + 3_600n } }, "EXPIRED_PAYMENT not_yet_valid"],
          [{ signature: Permit.malleated }, "INVALID_SIGNATURE high_s"],
          [{ signature: (text) => `${text.slice(0, -2)}00` as Hex }, "INVALID_SIGNATURE recovery_id"],
          [{ from: stranger }, "INVALID_SIGNATURE payer_mismatch"],
          [{ approval: { amount: "1" } }, "unsupported_authorization permit_approval_amount"],
          [{ approval: { spender: stranger } }, "unsupported_authorization permit_approval_spender"],
          [{ approval: { from: stranger } }, "unsupported_authorization permit_approval_owner"],
          [{ approval: { asset: plain } }, "unsupported_authorization permit_approval_token"],
          [{ approval: { deadline: `${time}` } }, "unsupported_authorization permit_approval_deadline"],
          [{ approval: { nonce: "99" } }, "unsupported_authorization permit_approval_signature"],
          [{ approval: { signature: "0x12" } }, "unsupported_authorization permit_approval_signature"],
          [{ written: { permitted: { token: one.token.address, amount: "-1" } } }, "malformed payload_fields"],
          [{ written: { witness: { to: permit2 } } }, "malformed payload_fields"]
        ]
        for (const [deviation, expected] of cases) {
          const request = yield* Permit.request(deviation)
          assert.strictEqual(yield* Payment.outcome(verify(request)), expected, JSON.stringify(expected))
        }
        const unserved = yield* facilitator({ permit2: false })
        const outcome = yield* Payment.outcome(unserved.verify(yield* Permit.request()))
        assert.strictEqual(outcome, "unsupported_authorization permit_unserved")
      })
    )

    it.effect("says whether the balance or the approval is too low", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { facilitator, payer, plain } = yield* ready
        const { verify } = yield* facilitator()
        const allowed = (value: bigint) => Permit2Contracts.approve(one, payer.address, plain, value)
        yield* allowed(9_999n)
        const request = yield* Permit.request({ token: plain })
        assert.strictEqual(yield* Payment.outcome(verify(request)), "unsupported_authorization allowance_below_amount")
        yield* allowed(2n ** 256n - 1n)
        const rich = yield* Permit.request({
          token: plain,
          signed: { amount: 2_000_000n },
          requirements: { maxAmountRequired: "2000000" }
        })
        assert.strictEqual(yield* Payment.outcome(verify(rich)), "INSUFFICIENT_BALANCE balance_below_amount")
        assert.strictEqual(yield* Payment.outcome(verify(request)), "ok")
      })
    )

    it.effect("with one nonce under two tokens is one payment: the second is refused by the record", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { facilitator, payer, plain } = yield* ready
        yield* Permit2Contracts.approve(one, payer.address)
        yield* Permit2Contracts.approve(one, payer.address, plain)
        const { settle, verify } = yield* facilitator()
        const signed = { nonce: 0xabcn << 64n }
        const first = yield* Permit.request({ signed })
        const second = yield* Permit.request({ token: plain, signed })
        assert.strictEqual(yield* Payment.outcome(verify(second)), "ok")
        assert.strictEqual((yield* settle(first, Payment.claim("one"))).status, "included")
        assert.match(yield* Payment.outcome(settle(second, Payment.claim("two"))), /^already_used/)
        assert.strictEqual(yield* one.balanceOf(one.accounts.payee.address, plain), 0n)
      })
    )

    it.effect("is bound to its request by its nonce", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { facilitator, payer } = yield* ready
        yield* Permit2Contracts.approve(one, payer.address)
        const { verify } = yield* facilitator()
        const { binding, signed } = Payment.bound()
        const good = yield* Permit.request({ binding, signed: { nonce: BigInt(String(signed.nonce)) } })
        assert.strictEqual(yield* Payment.outcome(verify(good)), "ok")
        const loose = yield* Permit.request({ binding })
        assert.strictEqual(yield* Payment.outcome(verify(loose)), "binding_mismatch nonce_not_bound")
      })
    )

    it.effect("of our own client settles, bound, and with its approval where the node shows none", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { facilitator, plain } = yield* ready
        const [, , payer = one.accounts.payers[0]] = one.accounts.payers
        const assets: ReadonlyArray<CustomAsset> = [
          { ...one.token, network: one.network },
          { network: one.network, address: plain, symbol: "PUSD", decimals: 6 }
        ]
        const { network, rpcUrl } = one
        const signer = exactEvm.localSigner(payer.privateKey)
        const schemeClient = exactEvm.client({ signer, network, assets, rpcUrl })
        const { settle } = yield* facilitator()
        const signIn = Effect.fnUntraced(function* (token: Address) {
          const requirements = {
            ...(yield* Payment.requirements),
            asset: token,
            extra: { assetTransferMethod: "permit2", permit2: {} }
          }
          const asset = schemeClient.asset(requirements)
          assert.isDefined(asset)
          const validBefore = Number(yield* Payment.latestTime) + 60
          const { binding } = Payment.bound()
          const signed = yield* schemeClient.sign({ requirements, asset, validAfter: 0, validBefore, binding })
          const paymentPayload = PaymentPayload.sealPayload("exact", network, signed.payload)
          return { request: { paymentPayload, paymentRequirements: requirements }, signed }
        })
        const first = yield* signIn(one.token.address)
        assert.property(first.signed.payload, "eip2612GasSponsoring")
        assert.strictEqual((yield* settle(first.request, Payment.claim("one"))).status, "included")
        yield* Permit2Contracts.approve(one, payer.address)
        const second = yield* signIn(one.token.address)
        assert.notProperty(second.signed.payload, "eip2612GasSponsoring")
        assert.strictEqual((yield* settle(second.request, Payment.claim("two"))).status, "included")
        const refused = yield* Effect.flip(signIn(plain))
        assert.match(String(refused), /PUSD needs an approval of Permit2 first/)
      })
    )

    it.effect("that a stranger submits to the proxy first counts as this payment", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { payer } = yield* ready
        yield* Permit2Contracts.approve(one, payer.address)
        const { binding, signed } = Payment.bound()
        const { call, request } = yield* Permit.signed({ binding, signed: { nonce: BigInt(String(signed.nonce)) } })
        const scheme = yield* Payment.scheme(one, { permit2: true })
        const payment = yield* Payment.read(scheme, request)
        const prepared = yield* Payment.prepareAlone(scheme, payment)
        const receipt = yield* one.send({ from: one.accounts.stranger.address, ...call })
        assert.strictEqual(receipt.status, "success")
        const seen = yield* Payment.sendAlone(scheme, payment, prepared)
        assert.strictEqual(seen._tag, "Settled")
        assert.strictEqual(seen._tag === "Settled" && seen.transaction, receipt.transactionHash)
        const concluded = yield* scheme.conclude({ payment, since: prepared.head })
        assert.strictEqual(concluded._tag, "Settled")
      })
    )

    it.effect("whose payer uses the nonce up first has failed, with that reason, once it is final", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { payer } = yield* ready
        yield* Permit2Contracts.approve(one, payer.address)
        const scheme = yield* Payment.scheme(one, { permit2: true })
        const { fields, request } = yield* Permit.signed()
        const payment = yield* Payment.read(scheme, request)
        yield* scheme.verify(payment)
        const prepared = yield* Payment.prepareAlone(scheme, payment)
        yield* Permit2Contracts.callAs(one, payer.address, invalidation(fields.nonce))
        const seen = yield* Payment.sendAlone(scheme, payment, prepared)
        assert.strictEqual(seen._tag === "Failed" && seen.error.detail, "nonce_canceled")
        const concluded = yield* scheme.conclude({ payment, since: prepared.head })
        assert.strictEqual(concluded._tag === "Unused" && concluded.reason?.detail, "nonce_canceled")
      })
    )

    it.effect("whose payer takes the approval back first has failed, and the payer is banned", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { payer, plain } = yield* ready
        yield* Permit2Contracts.approve(one, payer.address, plain)
        const assets: ReadonlyArray<CustomAsset> = [
          { network: one.network, address: plain, symbol: "PUSD", decimals: 6 }
        ]
        const scheme = yield* Payment.schemeOf(one, { permit2: true }, assets)
        const payment = yield* Payment.read(scheme, yield* Permit.request({ token: plain }))
        yield* scheme.verify(payment)
        const prepared = yield* Payment.prepareAlone(scheme, payment)
        yield* Permit2Contracts.approve(one, payer.address, plain, 0n)
        const seen = yield* Payment.sendAlone(scheme, payment, prepared)
        assert.strictEqual(seen._tag === "Failed" && seen.error.detail, "permit_transfer_refused")
        assert.strictEqual(yield* one.balanceOf(one.accounts.payee.address, plain), 0n)
        const other = yield* Payment.read(scheme, yield* Permit.request({ token: plain }))
        assert.match(yield* Payment.outcome(scheme.verify(other)), /banned/)
      })
    )

    for (const [what, artifact] of [
      ["keeps a fee", FeeToken],
      ["moves nothing", SilentToken]
    ] as const) {
      it.effect(`in a token that ${what} is never reported settled`, () =>
        Effect.gen(function* () {
          const one = yield* chain
          const { payer } = yield* ready
          const { name, symbol, version } = one.token
          const token = yield* one.deploy(artifact, [name, symbol, version])
          const args = [payer.address, 1_000_000n] as const
          yield* one.send({ to: token, data: encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args }) })
          yield* Permit2Contracts.approve(one, payer.address, token)
          const scheme = yield* Payment.scheme(one, { permit2: true, tokens: [token] })
          const payment = yield* Payment.read(scheme, yield* Permit.request({ token }))
          yield* scheme.verify(payment)
          const seen = yield* Payment.sendAlone(scheme, payment, yield* Payment.prepareAlone(scheme, payment))
          assert.strictEqual(seen._tag === "Failed" && seen.error.detail, "transfer_not_shown")
        })
      )
    }

    it.effect(
      "that a stranger submits through a contract of its own is not taken for another payment of the same amount",
      () =>
        Effect.gen(function* () {
          const one = yield* chain
          const { payer } = yield* ready
          yield* Permit2Contracts.approve(one, payer.address)
          const scheme = yield* Payment.scheme(one, { permit2: true })
          const { call, request } = yield* Permit.signed()
          const other = yield* Permit.signed()
          const payment = yield* Payment.read(scheme, request)
          const prepared = yield* Payment.prepareAlone(scheme, payment)
          yield* one.mine()
          // The same payer pays the same shop the same amount, by another nonce, in the block after the preparation.
          const between = yield* one.send({ from: one.accounts.stranger.address, ...other.call })
          assert.strictEqual(between.status, "success")
          const before = yield* scheme.conclude({ payment, since: prepared.head })
          assert.strictEqual(before._tag, "Pending")
          const wrapper = yield* one.deploy({ abi: [], bytecode: forwarding })
          const wrapped = yield* one.send({ to: wrapper, data: call.data })
          assert.strictEqual(wrapped.status, "success")
          assert.strictEqual((yield* scheme.conclude({ payment, since: prepared.head }))._tag, "Pending")
          yield* Payment.finalise(BigInt(payment.authorization.validBefore))
          const concluded = yield* scheme.conclude({ payment, since: prepared.head })
          assert.strictEqual(concluded._tag === "Unused" && concluded.reason?.detail, "permit_nonce_burnt")
        })
    )

    it.effect("is of at most the payer's balance and of what Permit2 may take of it, with all that are open", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { payer, plain } = yield* ready
        const assets: ReadonlyArray<CustomAsset> = [
          { network: one.network, address: plain, symbol: "PUSD", decimals: 6 }
        ]
        const scheme = yield* Payment.schemeOf(one, { permit2: true }, assets)
        const payment = yield* Payment.read(scheme, yield* Permit.request({ token: plain }))
        yield* Permit2Contracts.approve(one, payer.address, plain, 15_000n)
        assert.strictEqual(yield* scheme.balance(payment), 15_000n)
        yield* Permit2Contracts.approve(one, payer.address, plain)
        assert.strictEqual(yield* scheme.balance(payment), 1_000_000n)
      })
    )

    it.effect("is not served on a network without Permit2", () =>
      Effect.gen(function* () {
        const bare = yield* EvmTestChain.make({ payers: 1 })
        const failure = yield* Effect.flip(Payment.scheme(bare, { permit2: true }))
        assert.match(failure.message, /no contract Permit2/)
      }).pipe(Effect.scoped)
    )
  })
})

/**
 * Init code of a contract that calls the proxy with its own calldata, and reverts where that does: calldatacopy(0, 0, size);
 * call(gas, proxy, 0, 0, size, 0, 0).
 */
const forwarding: Hex = `0x6030600c60003960306000f336600060003760006000366000600073${Permit2Contracts.published.exactProxy.slice(2).toLowerCase()}5af1602e5760006000fd5b00`
