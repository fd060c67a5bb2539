/**
 * Channels of accounts with code, and deposits by Permit2: their deposits are not taken by signature, and say what to do; a channel that is
 * funded by a transaction of its own is served like any other, where a key signs its vouchers.
 */
import { assert, layer } from "@effect/vitest"
import { Facilitator } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import {
  Delegate7702,
  Erc1271Wallet,
  type EvmTestAccounts,
  EvmTestChain,
  Permit2Contracts
} from "../../src/testing/index.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as ChannelContract from "../../src/voucher/ChannelContract.ts"
import * as ChannelDeposit from "../../src/voucher/ChannelDeposit.ts"
import * as TestChannel from "../voucher/TestChannel.ts"
import * as TestEscrow from "../voucher/TestEscrow.ts"
import * as ChannelDesk from "./ChannelDesk.ts"

const { configOf, payerOf, rowOf, send, standing } = TestEscrow
const { claimOf, depositOf, opened, refundOf, requestOf, voucherOf } = ChannelDesk

const world = ChannelDesk.layer().pipe(Layer.provideMerge(EvmTestChain.layer({ payers: 8 })))

type Chain = EvmTestChain.Shape
type Account = EvmTestAccounts.TestAccount
type Config = ChannelConfig.ChannelConfig

/** The refusal of a message by both calls, which send nothing. */
const refusalOf = Effect.fnUntraced(function* (chain: Chain, config: Config, payload: unknown) {
  const facilitator = yield* Facilitator
  const request = requestOf(chain, config, payload)
  const sent = () =>
    Effect.promise(() => chain.client.getTransactionCount({ address: chain.accounts.signers[1].address }))
  const before = yield* sent()
  const refusal = yield* Effect.flip(facilitator.settle(request))
  assert.deepStrictEqual(yield* Effect.flip(facilitator.verify(request)), refusal)
  assert.strictEqual(yield* sent(), before)
  return { detail: "detail" in refusal ? refusal.detail : refusal._tag, text: refusal.message }
})

/** A voucher of the channel's key is taken, and its claim is included; then the rest goes back to the payer. */
const servedWith = Effect.fnUntraced(function* (chain: Chain, key: Account, config: Config, balance: bigint) {
  const facilitator = yield* Facilitator
  const [shop] = chain.accounts.signers
  const voucher = yield* voucherOf(chain, key, config, 3_000n)
  const channelConfig = ChannelConfig.onWire(config)
  const { payer } = yield* facilitator.verify(requestOf(chain, config, { type: "voucher", channelConfig, voucher }))
  assert.strictEqual(payer, channelConfig.payer)
  const row = yield* rowOf(chain, key, config, 3_000n, 2_000n)
  const claimed = yield* facilitator.settle(requestOf(chain, config, yield* claimOf(chain, [row], shop)))
  assert.strictEqual(claimed.status, "included")
  assert.deepStrictEqual(yield* standing(chain, config), [balance, 2_000n])
  const before = yield* chain.balanceOf(channelConfig.payer)
  const refund = yield* refundOf(chain, key, config, { amount: balance, nonce: 0n }, [], shop)
  assert.strictEqual((yield* facilitator.settle(requestOf(chain, config, refund))).status, "included")
  assert.strictEqual((yield* chain.balanceOf(channelConfig.payer)) - before, balance - 2_000n)
})

layer(world, { excludeTestServices: true })("a channel", (it) => {
  it.effect("without a payerAuthorizer is refused: its payer's code would decide at the claim", () =>
    Effect.gen(function* () {
      const chain = yield* EvmTestChain.EvmTestChain
      const owner = payerOf(chain, 0)
      const wallet = yield* chain.deploy(Erc1271Wallet, [owner.address])
      yield* chain.mint(wallet, 100_000n)
      const config = configOf(chain, owner, {
        payer: TestChannel.address(wallet),
        payerAuthorizer: EvmAddress.zero
      })
      const deposit = yield* refusalOf(chain, config, yield* depositOf(chain, owner, config, 50_000n, 1_000n))
      assert.strictEqual(deposit.detail, "batch_settlement_voucher_signature")
      assert.match(deposit.text, /ERC-1271.*open a channel with a key's address as payerAuthorizer/)
      // The contract would take both.
      yield* send(chain, wallet, yield* TestEscrow.depositCall(chain, owner, config, 50_000n))
      const voucher = yield* voucherOf(chain, owner, config, 1_000n)
      const message = { type: "voucher", channelConfig: ChannelConfig.onWire(config), voucher }
      const facilitator = yield* Facilitator
      const refused = yield* Effect.flip(facilitator.verify(requestOf(chain, config, message)))
      assert.match(refused.message, /ERC-1271/)
    })
  )

  it.effect("of an account with code (ERC-1271) is served once the account has funded it", () =>
    Effect.gen(function* () {
      const chain = yield* EvmTestChain.EvmTestChain
      const owner = payerOf(chain, 1)
      const wallet = yield* chain.deploy(Erc1271Wallet, [owner.address])
      yield* chain.mint(wallet, 100_000n)
      const config = configOf(chain, owner, { payer: TestChannel.address(wallet) })
      const deposit = yield* refusalOf(chain, config, yield* depositOf(chain, owner, config, 50_000n, 1_000n))
      assert.strictEqual(deposit.detail, "batch_settlement_receive_authorization_signature")
      assert.match(deposit.text, /an account with code sends its deposit to the contract itself/)
      yield* send(chain, wallet, yield* TestEscrow.depositCall(chain, owner, config, 50_000n))
      yield* servedWith(chain, owner, config, 50_000n)
    })
  )

  it.effect("of an account that delegates to code later (EIP-7702) goes on, and takes no further deposit", () =>
    Effect.gen(function* () {
      const chain = yield* EvmTestChain.EvmTestChain
      const payer = payerOf(chain, 2)
      const config = configOf(chain, payer)
      yield* opened(chain, payer, config, 50_000n)
      yield* chain.delegate(payer, yield* chain.deploy(Delegate7702))
      const deposit = yield* refusalOf(chain, config, yield* depositOf(chain, payer, config, 50_000n, 1_000n, 2))
      assert.strictEqual(deposit.detail, "batch_settlement_receive_authorization_signature")
      assert.match(deposit.text, /has code.*sends its deposit to the contract itself/)
      yield* servedWith(chain, payer, config, 50_000n)
    })
  )

  it.effect("takes no deposit that is signed for Permit2, and is served once one has funded it", () =>
    Effect.gen(function* () {
      const chain = yield* EvmTestChain.EvmTestChain
      yield* Permit2Contracts.deploy(chain)
      const payer = payerOf(chain, 3)
      const config = configOf(chain, payer)
      yield* Permit2Contracts.approve(chain, payer.address)
      const terms = {
        permitted: { token: config.token, amount: 50_000n },
        spender: ChannelContract.permit2Collector,
        nonce: 1n,
        deadline: 2n ** 40n,
        witness: { channelId: ChannelConfig.id(chain.chainId, config) }
      }
      const signature = yield* Effect.promise(() =>
        payer.signTypedData(ChannelDeposit.permitTypedData(chain.chainId, terms))
      )
      const onWire = {
        ...terms,
        from: payer.address,
        permitted: { token: chain.token.address, amount: "50000" },
        nonce: "1",
        deadline: `${terms.deadline}`,
        signature
      }
      const good = yield* depositOf(chain, payer, config, 50_000n, 1_000n)
      const payload = { ...good, deposit: { amount: "50000", authorization: { permit2Authorization: onWire } } }
      const deposit = yield* refusalOf(chain, config, payload)
      assert.strictEqual(deposit.detail, "batch_settlement_erc3009_authorization_required")
      assert.match(deposit.text, /signed for Permit2.*give deposit.authorization.erc3009Authorization/)
      const data = ChannelCall.permit2Data({ ...terms, from: config.payer, signature })
      const call = ChannelCall.deposit(config, 50_000n, ChannelContract.permit2Collector, data)
      yield* send(chain, chain.accounts.stranger.address, call)
      yield* servedWith(chain, payer, config, 50_000n)
    })
  )
})
