/**
 * Payment channels of x402's own client, shop and facilitator on our contract for tests: the packages work against it unmodified, so
 * that they are a standard for our roles. And a buyer of theirs leaves its channel by our withdrawal, without the shop.
 */
import { assert, describe, layer } from "@effect/vitest"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import { ChannelCall, ChannelContract, channelEvm, EvmAddress, exactEvm } from "@pontage/evm"
import { toClientEvmSigner } from "@x402/evm"
import { BatchSettlementEvmScheme as ChannelClient } from "@x402/evm/batch-settlement/client"
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from "@x402/fetch"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { privateKeyToAccount } from "viem/accounts"

import { Market, opened, withdrawDelay } from "./ChannelMarket.ts"

const { amount } = BaseSepolia

/** A buyer of theirs with its own memory of its channel, and the terms of that channel. */
const buyerOf = Effect.fnUntraced(function* ({ key }: Pick<BaseSepoliaChain.Payer, "key">) {
  const { chain, shop } = yield* Market
  const signer = toClientEvmSigner(privateKeyToAccount(key), chain.node.client)
  const scheme = new ChannelClient(signer)
  const client = x402Client.fromConfig({
    schemes: [{ network: BaseSepolia.network, client: scheme }],
    spendControls: false
  })
  const paying = wrapFetchWithPayment(fetch, client)
  const url = `${shop.url}/report`
  return { scheme, url, buy: Effect.promise(() => paying(url)) }
})

const receiptOf = ({ headers }: Response) =>
  new x402HTTPClient(new x402Client()).getPaymentSettleResponse((name) => headers.get(name))

/** The terms of a buyer's channel, as the buyer computes them of the shop's offer. */
const termsOf = Effect.fnUntraced(function* ({ scheme, url }: Effect.Success<ReturnType<typeof buyerOf>>) {
  const response = yield* Effect.promise(() => fetch(url))
  const required = new x402HTTPClient(new x402Client()).getPaymentRequiredResponse((name) => response.headers.get(name))
  const [offer] = required.accepts
  return offer === undefined ? yield* Effect.die("the shop offers nothing") : scheme.buildChannelConfig(offer)
})

describe("channels of x402's client, shop and facilitator", () => {
  layer(Layer.effect(Market, opened), { excludeTestServices: true, timeout: "120 seconds" })((it) => {
    it.effect("take one deposit for ten requests, another for the eleventh, and refund what is left", () =>
      Effect.gen(function* () {
        const { chain, payTo } = yield* Market
        const payer = yield* chain.payer
        const buyer = yield* buyerOf(payer)
        const statuses: Array<number> = []
        const moved: Array<string> = []
        for (let request = 0; request < 21; request++) {
          const response = yield* buyer.buy
          statuses.push(response.status)
          const { transaction } = receiptOf(response)
          if (transaction !== "") moved.push(transaction)
        }
        assert.deepStrictEqual(new Set(statuses), new Set([200]))
        assert.lengthOf(moved, 3)
        const channel = yield* termsOf(buyer)
        const { rpcUrl } = chain.node
        const before = yield* channelEvm.state({ rpcUrl, channel })
        assert.deepInclude(before, { balance: 30n * amount, claimed: 0n, refundNonce: 0n })
        assert.strictEqual(yield* chain.balanceOf(payer.address), BaseSepoliaChain.initialBalance - 30n * amount)
        yield* Effect.promise(() => buyer.scheme.refund(buyer.url))
        const after = yield* channelEvm.state({ rpcUrl, channel })
        assert.deepInclude(after, { balance: 21n * amount, claimed: 21n * amount, available: 0n, refundNonce: 1n })
        assert.strictEqual(yield* chain.balanceOf(payer.address), BaseSepoliaChain.initialBalance - 21n * amount)
        const [receiver, token] = [payTo, BaseSepolia.token].map((text) => EvmAddress.fromText(text))
        if (receiver === undefined || token === undefined) return assert.fail("no addresses")
        yield* chain.node.send({ to: ChannelContract.address, data: ChannelCall.settle(receiver, token) })
        assert.strictEqual(yield* chain.balanceOf(payTo), 21n * amount)
        assert.strictEqual(yield* chain.balanceOf(ChannelContract.address), 0n)
        return undefined
      })
    )

    it.effect("agree again after the client has lost its state", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const payer = yield* chain.payer
        const first = yield* buyerOf(payer)
        for (let request = 0; request < 3; request++) assert.strictEqual((yield* first.buy).status, 200)
        const again = yield* buyerOf(payer)
        const response = yield* again.buy
        assert.strictEqual(response.status, 200)
        assert.deepInclude(receiptOf(response).extra, { chargedAmount: `${amount}` })
        const channel = yield* termsOf(again)
        const state = yield* channelEvm.state({ rpcUrl: chain.node.rpcUrl, channel })
        assert.strictEqual(state.balance, 10n * amount)
      })
    )

    it.effect("are left by our withdrawal, without the shop", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const { node } = chain
        const payer = yield* chain.payer
        const buyer = yield* buyerOf(payer)
        assert.strictEqual((yield* buyer.buy).status, 200)
        const channel = yield* termsOf(buyer)
        yield* node.setBalance(payer.address, 10n ** 18n)
        const options = { signer: exactEvm.localSigner(payer.key), rpcUrl: node.rpcUrl, channel }
        assert.deepInclude(yield* channelEvm.withdraw(options), { _tag: "Begun", amount: 10n * amount })
        const { timestamp } = yield* Effect.promise(() => node.client.getBlock())
        yield* node.setNextBlockTimestamp(timestamp + BigInt(withdrawDelay))
        yield* node.mine()
        // The shop has not claimed its one request in time: the whole deposit is back with the payer.
        assert.deepInclude(yield* channelEvm.withdraw(options), { _tag: "Paid", amount: 10n * amount })
        assert.strictEqual(yield* chain.balanceOf(payer.address), BaseSepoliaChain.initialBalance)
      })
    )
  })
})
