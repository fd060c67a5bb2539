/** The scheme client: requests that it signs, and requests that it refuses. */
import { assert, describe, layer } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Binding from "@pontage/core/Binding"
import { Cell, internal, SendMode } from "@ton/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { ExactTon, exactTon, TonAuthorization, TonBoc, TonMessage, type TonSigner } from "../../src/index.ts"
import { ToncenterFault, type TonTestAccounts, TonTestChain } from "../../src/testing/index.ts"
import * as Forgery from "../TonForgery.ts"
import * as Trial from "../TonTrial.ts"

/** Signs for the trial's offer. */
const sign = Effect.fnUntraced(function* (
  { requirements }: Trial.Trial,
  client: ReturnType<typeof exactTon.client>,
  binding?: Effect.Success<ReturnType<typeof Binding.make>>
) {
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die("the payer knows the asset")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return yield* client.sign({ requirements, asset, validAfter: 0, validBefore: now + 60, binding })
})

const requestBy = (
  { secretKey, wallet }: TonTestAccounts.TestAccount,
  timeout: number,
  messages: TonSigner.TonSigningOrder["messages"]
): Cell =>
  wallet.createTransfer({
    authType: "internal",
    seqno: 0,
    timeout,
    secretKey,
    sendMode: SendMode.PAY_GAS_SEPARATELY + SendMode.IGNORE_ERRORS,
    messages: messages.map(({ address, amount, payload }) =>
      internal({ to: address, value: BigInt(amount), bounce: true, body: Cell.fromBase64(payload) })
    )
  })

/** A wallet with TON Connect's `signMessage`, by `@ton/ton`, with a fixed amount as wallet apps have it. */
const wallet = (
  trial: Trial.Trial,
  change: (order: TonSigner.TonSigningOrder) => TonSigner.TonSigningOrder = (order) => order
): TonSigner.TonMessageSigner => {
  const [payer] = trial.chain.accounts.payers
  return {
    address: payer.address.toString(),
    signMessage: (order) => {
      const { messages, valid_until: timeout } = change(order)
      const body = requestBy(payer, timeout, messages)
      const to = Forgery.addressOf(payer.raw)
      return Promise.resolve({ internalBoc: TonBoc.toBase64(TonMessage.internal(to, 0n, body)) })
    }
  }
}

describe("the scheme client", () => {
  layer(TonTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("signs the offer's terms, bound to the request", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const client = trial.clientOf(trial.chain.accounts.payers[0])
        const binding = yield* Binding.make("a-challenge-of-the-shop")
        const { nonce, payer, payload } = yield* sign(trial, client, binding)
        const { authorization } = yield* Trial.read(trial, payload)
        assert.strictEqual(authorization.payer, payer)
        assert.strictEqual(authorization.nonce, nonce)
        assert.deepStrictEqual(authorization.binding, binding)
        const decoded = yield* ExactTon.decodePayload(payload)
        const terms = ExactTon.termsOf(trial.requirements)
        const { transfer } = Result.getOrThrow(TonAuthorization.read(decoded, terms ?? assert.fail()))
        const tag = yield* Binding.tag(binding)
        assert.strictEqual(transfer.queryId, Buffer.from(tag).readBigUInt64BE())
      })
    )

    it.effect("accepts keys in each form, and none of another public key", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { network, rpcUrl, accounts } = trial.chain
        const { publicKey, secretKey, seed } = accounts.payers[0]
        const assets = [{ network, address: trial.chain.jetton.raw, symbol: "TUSD", decimals: 6 }]
        const clientOf = (signer: TonSigner.TonKeySigner) => exactTon.client({ signer, network, rpcUrl, assets })
        const whole = { publicKey, secretKey }
        const remote: TonSigner.TonHashSigner = {
          publicKey,
          sign: (hash) => Promise.resolve(Uint8Array.from(Forgery.signatureOf(seed, hash)))
        }
        for (const signer of [whole, { publicKey, secretKey: seed }, remote]) {
          const { payload } = yield* sign(trial, clientOf(signer))
          const verdict = Effect.flatMap(Trial.read(trial, payload), (payment) => trial.facilitator.verify(payment))
          assert.strictEqual(yield* Trial.wordOf(verdict), "ok")
        }
        for (const wrong of [
          { publicKey: publicKey.subarray(1), secretKey },
          { publicKey, secretKey: seed.subarray(1) },
          { publicKey: accounts.stranger.publicKey, secretKey }
        ]) {
          assert.throws(() => clientOf(wrong), Misconfigured)
        }
      })
    )

    it.effect("accepts a request that a wallet signed by TON Connect, and it settles", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { network, rpcUrl, jetton } = trial.chain
        const assets = [{ network, address: jetton.raw, symbol: "TUSD", decimals: 6 }]
        const client = exactTon.client({ signer: wallet(trial), network, rpcUrl, assets })
        const { payload } = yield* sign(trial, client)
        const settled = yield* Trial.withService(trial.facilitator, (service) =>
          service.settle(Trial.request(trial, payload), Trial.newClaim())
        )
        assert.isTrue(Trial.isSettled(settled))
      })
    )

    const changes: Readonly<Record<string, (order: TonSigner.TonSigningOrder) => TonSigner.TonSigningOrder>> = {
      "for longer": (order) => ({ ...order, valid_until: order.valid_until + 1 }),
      "to another contract": (order) => ({
        ...order,
        messages: order.messages.map((message) => ({ ...message, address: `0:${"12".repeat(32)}` }))
      }),
      twice: (order) => ({ ...order, messages: [...order.messages, ...order.messages] }),
      "something else": (order) => ({
        ...order,
        messages: order.messages.map((message) => ({ ...message, payload: TonBoc.toBase64(Cell.EMPTY) }))
      })
    }
    for (const [name, change] of Object.entries(changes)) {
      it.effect(`refuses a request that a wallet signed ${name}`, () =>
        Effect.gen(function* () {
          const trial = yield* Trial.make()
          const { jetton, network, rpcUrl } = trial.chain
          const assets = [{ network, address: jetton.raw, symbol: "TUSD", decimals: 6 }]
          const client = exactTon.client({ signer: wallet(trial, change), network, rpcUrl, assets })
          assert.strictEqual((yield* Effect.flip(sign(trial, client)))._tag, "SigningFailed")
        })
      )
    }

    it.effect(
      "signs nothing that no facilitator would relay, of another kind, to an invalid address, or while the chain is unavailable",
      () =>
        Effect.gen(function* () {
          const trial = yield* Trial.make()
          const client = trial.clientOf(trial.chain.accounts.payers[0])
          const { kinds, maxInnerTon } = trial.facilitator.extra ?? {}
          for (const requirements of [
            { ...trial.requirements, extra: { kinds: kinds ?? [], maxInnerTon: maxInnerTon ?? "" } },
            { ...trial.requirements, extra: { ...trial.facilitator.extra, kinds: ["external"] } },
            { ...trial.requirements, extra: { ...trial.facilitator.extra, responseDestination: "nobody" } },
            { ...trial.requirements, payTo: "nobody" }
          ]) {
            const failed = yield* Effect.flip(sign({ ...trial, requirements }, client))
            assert.strictEqual(failed._tag, "SigningFailed")
          }
          yield* trial.chain.spoil("*", ToncenterFault.Broken())
          assert.strictEqual((yield* Effect.flip(sign(trial, client)))._tag, "SigningFailed")
          yield* trial.chain.mend
        })
    )

    it.effect("knows only the assets of the table", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const client = trial.clientOf(trial.chain.accounts.payers[0])
        const { asset, ...nameless } = trial.requirements
        assert.isDefined(asset)
        assert.isUndefined(client.asset(nameless))
        assert.isUndefined(client.asset({ ...trial.requirements, asset: trial.chain.accounts.stranger.raw }))
      })
    )
  })
})
