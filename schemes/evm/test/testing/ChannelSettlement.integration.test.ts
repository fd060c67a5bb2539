import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { encodeFunctionData, type Hex, type Log, parseAbi, parseEventLogs, toEventSelector, zeroAddress } from "viem"

import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import {
  ChannelContracts,
  ChannelSettlement,
  Erc1271Wallet,
  type EvmTestAccounts,
  EvmTestChain,
  FeeToken,
  Permit2Contracts
} from "../../src/testing/index.ts"
import * as Eip2612 from "../../src/transfer/Eip2612.ts"
import * as Permit2 from "../../src/transfer/Permit2.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as ChannelContract from "../../src/voucher/ChannelContract.ts"
import * as ChannelDeposit from "../../src/voucher/ChannelDeposit.ts"
import * as ChannelEvent from "../../src/voucher/ChannelEvent.ts"
import * as ChannelRefund from "../../src/voucher/ChannelRefund.ts"
import * as ClaimBatch from "../../src/voucher/ClaimBatch.ts"
import * as Voucher from "../../src/voucher/Voucher.ts"
import * as TestChannel from "../voucher/TestChannel.ts"
import * as TestEscrow from "../voucher/TestEscrow.ts"

const { answer, configOf, depositCall, open, payerOf, rowOf, send, standing } = TestEscrow
const { abi } = ChannelSettlement

/** The chain with the contracts. */
const ready = Effect.gen(function* () {
  const chain = yield* EvmTestChain.EvmTestChain
  yield* ChannelContracts.deploy(chain)
  return chain
})

const eventsOf = (logs: ReadonlyArray<Log>) =>
  logs.flatMap((log) => {
    const event = ChannelEvent.read({ ...log, address: EvmAddress.fromTail(log.address) })
    return event === undefined ? [] : [event]
  })

const collectAbi = parseAbi([
  "function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes collectorData)"
])

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The malleated twin of a signature, which most libraries accept. */
const highS = (signature: Hex): Hex => {
  const twin = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, "0")
  return `0x${signature.slice(2, 66)}${twin}${signature.endsWith("1b") ? "1c" : "1b"}`
}

/** The payer's approval of Permit2 by signature, its first in the token. */
const approve = (chain: EvmTestChain.Shape, payer: EvmTestAccounts.TestAccount, amount: bigint) =>
  Effect.promise(async () => {
    const { address: token, name, version } = chain.token
    const asset = TestChannel.address(token)
    const terms = {
      from: TestChannel.address(payer.address),
      asset,
      spender: Permit2.address,
      amount,
      nonce: 0n,
      deadline: 2n ** 40n
    }
    const domain = { name, version, chainId: chain.chainId, verifyingContract: asset }
    const signature = await payer.signTypedData(Eip2612.typedData(domain, terms))
    return { ...terms, signature, version: "1" }
  })

describe("the channel contract", () => {
  layer(EvmTestChain.layer({ payers: 12 }))((it) => {
    it.effect("has the published one's digests", () =>
      Effect.gen(function* () {
        const { accounts, chainId, client } = yield* ready
        const contract = { address: ChannelContract.address, abi }
        const config = { ...TestChannel.config, payer: TestChannel.address(accounts.payers[0].address) }
        const id = ChannelConfig.id(chainId, config)
        const rows = [
          { voucher: { channel: config, maxClaimableAmount: 9n }, signature: "0x", totalClaimed: 8n },
          { voucher: { channel: TestChannel.config, maxClaimableAmount: 7n }, signature: "0x1234", totalClaimed: 6n }
        ] as const
        const batch = (count: number) =>
          EvmHex.fromBytes(
            ClaimBatch.digest(
              chainId,
              rows.slice(0, count).map((row) => ClaimBatch.entry(chainId, row))
            )
          )
        const digests = yield* Effect.promise(() =>
          Promise.all([
            client.readContract({ ...contract, functionName: "getChannelId", args: [config] }),
            client.readContract({ ...contract, functionName: "getVoucherDigest", args: [id, 5n] }),
            client.readContract({ ...contract, functionName: "getRefundDigest", args: [id, 3n, 4n] }),
            ...[0, 1, 2].map((count) =>
              client.readContract({
                ...contract,
                functionName: "getClaimBatchDigest",
                args: [rows.slice(0, count)]
              })
            )
          ])
        )
        assert.deepStrictEqual(digests, [
          id,
          EvmHex.fromBytes(Voucher.digest(chainId, { channelId: id, maxClaimableAmount: 5n })),
          EvmHex.fromBytes(ChannelRefund.digest(chainId, { channelId: id, nonce: 3n, amount: 4n })),
          ...[0, 1, 2].map(batch)
        ])
        const domain = yield* Effect.promise(() => client.getEip712Domain({ address: ChannelContract.address }))
        assert.deepInclude(domain.domain, { name: "x402 Batch Settlement", version: "1", chainId })
        const hashes = yield* Effect.promise(() =>
          Promise.all(
            (
              [
                "CHANNEL_CONFIG_TYPEHASH",
                "VOUCHER_TYPEHASH",
                "REFUND_TYPEHASH",
                "CLAIM_ENTRY_TYPEHASH",
                "CLAIM_BATCH_TYPEHASH"
              ] as const
            ).map((functionName) => client.readContract({ ...contract, functionName }))
          )
        )
        assert.deepStrictEqual(hashes, [
          "0x1c9a06ceab9b0ebbd3301dc56c9111bb6d9af421356dc9ccb3b7084c755db308",
          "0x1e1bd6ff84c3e0d9029a292b212e039c0ca97ec497c55191a4a5874294609a69",
          "0xbe23ad087435072cd69b49cc5b92de10ee610fce7ae0ab428307972d764bb216",
          "0x30b9a0367528fca13c3e8ec6134c3113f1887ebe7a1ad61de0955aac288b0cf5",
          "0x42bd57c010b870c2e96203c66341f28a6a19b4d56a74533a8eb5f706b9fd6d57"
        ])
      })
    )

    it.effect("takes a deposit, claims it, settles and refunds the rest, with an event for each", () =>
      Effect.gen(function* () {
        const chain = yield* ready
        const payer = payerOf(chain, 0)
        const [receiver] = chain.accounts.signers
        const config = configOf(chain, payer)
        const channelId = ChannelConfig.id(chain.chainId, config)
        const opened = yield* open(chain, payer, config, 10_000n)
        assert.deepStrictEqual(eventsOf(opened.logs), [
          { _tag: "Deposited", channelId, amount: 10_000n, total: 10_000n }
        ])
        assert.lengthOf(parseEventLogs({ abi, eventName: "ChannelCreated", logs: opened.logs }), 1)
        const second = yield* open(chain, payer, config, 500n, 2)
        assert.lengthOf(parseEventLogs({ abi, eventName: "ChannelCreated", logs: second.logs }), 0)
        const row = yield* rowOf(chain, payer, config, 5000n, 3200n)
        const claimed = yield* send(chain, receiver.address, ChannelCall.claim([row]))
        assert.deepStrictEqual(eventsOf(claimed.logs), [{ _tag: "Claimed", channelId, amount: 3200n, total: 3200n }])
        const replayed = yield* send(chain, receiver.address, ChannelCall.claim([row]))
        assert.lengthOf(replayed.logs, 0)
        const before = yield* chain.balanceOf(receiver.address)
        const settled = yield* send(
          chain,
          chain.accounts.stranger.address,
          ChannelCall.settle(config.receiver, config.token)
        )
        const settlements = settled.logs.map((log) =>
          ChannelEvent.readSettled({ ...log, address: EvmAddress.fromTail(log.address) })
        )
        assert.deepInclude(settlements, { receiver: config.receiver, token: config.token, amount: 3200n })
        assert.strictEqual((yield* chain.balanceOf(receiver.address)) - before, 3200n)
        assert.lengthOf(
          (yield* send(chain, receiver.address, ChannelCall.settle(config.receiver, config.token))).logs,
          0
        )
        const refunded = yield* send(chain, receiver.address, ChannelCall.refund(config, 2n ** 128n - 1n))
        assert.deepStrictEqual(eventsOf(refunded.logs), [{ _tag: "Refunded", channelId, amount: 7300n }])
        assert.deepStrictEqual(yield* standing(chain, config), [3200n, 3200n])
        assert.strictEqual(yield* chain.balanceOf(ChannelContract.address), 0n)
      })
    )

    it.effect("pays a withdrawal after its delay, less what is claimed meanwhile", () =>
      Effect.gen(function* () {
        const chain = yield* ready
        const payer = payerOf(chain, 1)
        const config = configOf(chain, payer)
        const channelId = ChannelConfig.id(chain.chainId, config)
        yield* open(chain, payer, config, 1000n)
        const initiated = yield* send(chain, payer.address, ChannelCall.initiateWithdraw(config, 1000n))
        const { timestamp } = yield* Effect.promise(() => chain.client.getBlock())
        assert.deepStrictEqual(eventsOf(initiated.logs), [
          { _tag: "WithdrawInitiated", channelId, amount: 1000n, finalizeAfter: timestamp + 900n }
        ])
        const end = ChannelCall.finalizeWithdraw(config)
        assert.strictEqual(yield* answer(chain, payer.address, end), "WithdrawDelayNotElapsed")
        const again = ChannelCall.initiateWithdraw(config, 1n)
        assert.strictEqual(yield* answer(chain, payer.address, again), "WithdrawalAlreadyPending")
        const row = yield* rowOf(chain, payer, config, 300n, 300n)
        yield* send(chain, chain.accounts.signers[0].address, ChannelCall.claim([row]))
        yield* chain.setNextBlockTimestamp(timestamp + 900n)
        const finalized = yield* send(chain, payer.address, end)
        assert.deepStrictEqual(eventsOf(finalized.logs), [{ _tag: "WithdrawFinalized", channelId, amount: 700n }])
        const late = yield* rowOf(chain, payer, config, 400n, 400n)
        const receiver = chain.accounts.signers[0].address
        assert.strictEqual(yield* answer(chain, receiver, ChannelCall.claim([late])), "ClaimExceedsBalance")
      })
    )

    it.effect("refuses each wrong deposit by name, in the published order", () =>
      Effect.gen(function* () {
        const chain = yield* ready
        const [payer] = chain.accounts.payers
        const stranger = chain.accounts.stranger.address
        const config = configOf(chain, payer, { salt: TestChannel.word(5) })
        const none = TestChannel.address(zeroAddress)
        const deposit = (change: Partial<ChannelConfig.ChannelConfig>, amount = 1n, collector = config.payer) =>
          answer(chain, stranger, ChannelCall.deposit({ ...config, ...change }, amount, collector, "0x"))
        for (const party of ["payer", "receiver", "receiverAuthorizer", "token"] as const) {
          assert.strictEqual(yield* deposit({ [party]: none, withdrawDelay: 0 }, 0n, none), "InvalidChannel")
        }
        assert.strictEqual(yield* deposit({ withdrawDelay: 899 }, 0n, none), "WithdrawDelayOutOfRange")
        assert.strictEqual(yield* deposit({ withdrawDelay: 2_592_001 }, 0n, none), "WithdrawDelayOutOfRange")
        assert.strictEqual(yield* deposit({}, 0n, none), "ZeroDeposit")
        assert.strictEqual(yield* deposit({}, 1n, none), "InvalidCollector")
        yield* open(chain, payer, config, 1n, 9)
        assert.strictEqual(yield* deposit({}, 2n ** 128n - 1n), "DepositOverflow")
        const direct = encodeFunctionData({
          abi: collectAbi,
          functionName: "collect",
          args: [config.payer, config.token, 1n, TestChannel.word(1), "0x"]
        })
        for (const collector of [ChannelContract.erc3009Collector, ChannelContract.permit2Collector]) {
          assert.strictEqual(yield* answer(chain, stranger, direct, collector), "OnlyX402BatchSettlement")
        }
      })
    )

    it.effect("refuses a token that takes a fee, and an authorization of another channel", () =>
      Effect.gen(function* () {
        const chain = yield* ready
        const [payer] = chain.accounts.payers
        const stranger = chain.accounts.stranger.address
        const fee = yield* chain.deploy(FeeToken, ["Test Dollar", "TUSD", "1"])
        const mint = encodeFunctionData({ abi: FeeToken.abi, functionName: "mint", args: [payer.address, 1000n] })
        yield* chain.send({ to: fee, data: mint })
        const config = configOf(chain, payer, { token: TestChannel.address(fee) })
        const fees = yield* depositCall(chain, payer, config, 1000n)
        assert.strictEqual(yield* answer(chain, stranger, fees), "ERC20: transfer amount exceeds balance")
        const mine = configOf(chain, payer, { salt: TestChannel.word(6) })
        const call = yield* depositCall(chain, payer, mine, 10n)
        const others: Hex = `0x${call.slice(2).replace(mine.salt.slice(2), TestChannel.word(7).slice(2))}`
        assert.strictEqual(yield* answer(chain, stranger, call), "accepted")
        assert.strictEqual(yield* answer(chain, stranger, others), "FiatTokenV2: invalid signature")
      })
    )

    it.effect("refuses each wrong claim by name, with the whole batch", () =>
      Effect.gen(function* () {
        const chain = yield* ready
        const payer = payerOf(chain, 2)
        const [receiver] = chain.accounts.signers
        const config = configOf(chain, payer)
        yield* open(chain, payer, config, 1000n)
        const claim = (rows: ReadonlyArray<ClaimBatch.ClaimRow>, from = receiver.address) =>
          answer(chain, from, ChannelCall.claim(rows))
        const good = yield* rowOf(chain, payer, config, 500n, 500n)
        assert.strictEqual(yield* claim([good]), "accepted")
        assert.strictEqual(yield* claim([]), "EmptyBatch")
        assert.strictEqual(yield* claim([good], payer.address), "NotAuthorizedToClaim")
        const above = yield* rowOf(chain, payer, config, 500n, 501n)
        assert.strictEqual(yield* claim([good, above]), "ClaimExceedsCeiling")
        const beyond = yield* rowOf(chain, payer, config, 5000n, 1001n)
        assert.strictEqual(yield* claim([good, beyond]), "ClaimExceedsBalance")
        const foreign = yield* rowOf(chain, chain.accounts.payers[0], config, 600n, 600n)
        assert.strictEqual(yield* claim([good, foreign]), "InvalidSignature")
        const irregular: ReadonlyArray<readonly [(text: Hex) => Hex, string]> = [
          [highS, "ECDSAInvalidSignatureS"],
          [(text) => `0x${text.slice(2, 130)}00`, "ECDSAInvalidSignature"],
          [(text) => `0x${text.slice(2, 130)}`, "ECDSAInvalidSignatureLength"],
          [(text) => `${text}00`, "ECDSAInvalidSignatureLength"]
        ]
        for (const [change, expected] of irregular) {
          assert.strictEqual(yield* claim([{ ...good, signature: change(good.signature) }]), expected)
        }
        const batch = [ClaimBatch.entry(chain.chainId, good)]
        const signature = yield* Effect.promise(() =>
          receiver.signTypedData(ClaimBatch.typedData(chain.chainId, batch))
        )
        const relayed = (rows: ReadonlyArray<ClaimBatch.ClaimRow>, by: Hex) =>
          answer(chain, payer.address, ChannelCall.claimWithSignature(rows, by))
        assert.strictEqual(yield* relayed([good], signature), "accepted")
        assert.strictEqual(yield* relayed([], signature), "EmptyBatch")
        assert.strictEqual(yield* relayed([good, good], signature), "InvalidSignature")
        const other = configOf(chain, payer, { receiverAuthorizer: config.payer })
        const mixed = [good, yield* rowOf(chain, payer, other, 5n, 5n)]
        const both = mixed.map((row) => ClaimBatch.entry(chain.chainId, row))
        const mixedSignature = yield* Effect.promise(() =>
          receiver.signTypedData(ClaimBatch.typedData(chain.chainId, both))
        )
        assert.strictEqual(yield* relayed(mixed, mixedSignature), "NotReceiverAuthorizer")
      })
    )

    it.effect("refuses each wrong refund and withdrawal by name", () =>
      Effect.gen(function* () {
        const chain = yield* ready
        const payer = payerOf(chain, 3)
        const [receiver] = chain.accounts.signers
        const config = configOf(chain, payer)
        const channelId = ChannelConfig.id(chain.chainId, config)
        yield* open(chain, payer, config, 1000n)
        const signRefund = (nonce: bigint, amount: bigint) =>
          Effect.promise(() =>
            receiver.signTypedData(ChannelRefund.typedData(chain.chainId, { channelId, nonce, amount }))
          )
        const relayed = Effect.fnUntraced(function* (nonce: bigint, amount: bigint, signature: Hex) {
          const call = ChannelCall.refundWithSignature(config, amount, nonce, signature)
          return yield* answer(chain, payer.address, call)
        })
        const first = yield* signRefund(0n, 100n)
        assert.strictEqual(yield* relayed(0n, 100n, first), "accepted")
        assert.strictEqual(yield* relayed(1n, 100n, first), "InvalidRefundNonce")
        assert.strictEqual(yield* relayed(0n, 101n, first), "InvalidSignature")
        assert.strictEqual(yield* relayed(0n, 100n, highS(first)), "InvalidSignature")
        assert.strictEqual(yield* relayed(0n, 0n, yield* signRefund(0n, 0n)), "ZeroRefund")
        const by = (from: Hex, call: Hex) => answer(chain, from, call)
        assert.strictEqual(yield* by(payer.address, ChannelCall.refund(config, 1n)), "NotAuthorizedToRefund")
        assert.strictEqual(yield* by(receiver.address, ChannelCall.refund(config, 0n)), "ZeroRefund")
        const start = (amount: bigint) => ChannelCall.initiateWithdraw(config, amount)
        assert.strictEqual(yield* by(receiver.address, start(1n)), "InvalidChannel")
        assert.strictEqual(yield* by(payer.address, start(0n)), "NothingToWithdraw")
        assert.strictEqual(yield* by(payer.address, start(1001n)), "WithdrawAmountExceedsAvailable")
        const end = ChannelCall.finalizeWithdraw(config)
        assert.strictEqual(yield* by(receiver.address, end), "NotAuthorizedToFinalizeWithdraw")
        assert.strictEqual(yield* by(payer.address, end), "WithdrawalNotPending")
        // A refund lowers a pending withdrawal, and ends it where it covers it; the nonce rises each time.
        yield* send(chain, payer.address, start(1000n))
        yield* send(chain, receiver.address, ChannelCall.refund(config, 400n))
        assert.strictEqual(yield* by(payer.address, end), "WithdrawDelayNotElapsed")
        yield* send(chain, receiver.address, ChannelCall.refund(config, 600n))
        assert.strictEqual(yield* by(payer.address, end), "WithdrawalNotPending")
        yield* send(chain, receiver.address, ChannelCall.refund(config, 1n))
        assert.strictEqual(yield* relayed(3n, 5n, yield* signRefund(3n, 5n)), "accepted")
      })
    )

    it.effect("does several calls at once or none, and each of them once", () =>
      Effect.gen(function* () {
        const chain = yield* ready
        const payer = payerOf(chain, 4)
        const [receiver] = chain.accounts.signers
        const config = configOf(chain, payer)
        yield* open(chain, payer, config, 1000n)
        const claim = ChannelCall.claim([yield* rowOf(chain, payer, config, 600n, 600n)])
        const settle = ChannelCall.settle(config.receiver, config.token)
        const refund = ChannelCall.refund(config, 0n)
        assert.strictEqual(
          yield* answer(chain, receiver.address, ChannelCall.multicall([claim, settle, refund])),
          "ZeroRefund"
        )
        yield* send(chain, receiver.address, settle)
        const before = yield* chain.balanceOf(receiver.address)
        yield* send(chain, receiver.address, ChannelCall.multicall([claim, settle]))
        assert.strictEqual((yield* chain.balanceOf(receiver.address)) - before, 600n)
      })
    )

    it.effect("lets an account with code validate its vouchers, where no key signs them", () =>
      Effect.gen(function* () {
        const chain = yield* ready
        const owner = payerOf(chain, 5)
        const [receiver] = chain.accounts.signers
        const wallet = yield* chain.deploy(Erc1271Wallet, [owner.address])
        yield* chain.mint(wallet, 1010n)
        const change = { payer: TestChannel.address(wallet), payerAuthorizer: EvmAddress.zero }
        const config = configOf(chain, owner, change)
        yield* open(chain, owner, config, 1000n)
        const row = yield* rowOf(chain, owner, config, 10n, 10n)
        const foreign = yield* rowOf(chain, chain.accounts.payers[0], config, 10n, 10n)
        assert.strictEqual(yield* answer(chain, receiver.address, ChannelCall.claim([row])), "accepted")
        assert.strictEqual(yield* answer(chain, receiver.address, ChannelCall.claim([foreign])), "InvalidSignature")
        // With a key named, the account's own answer does not count.
        const keyed = configOf(chain, owner, { ...change, payerAuthorizer: TestChannel.address(receiver.address) })
        yield* open(chain, owner, keyed, 10n, 2)
        const named = yield* rowOf(chain, owner, keyed, 10n, 10n)
        assert.strictEqual(yield* answer(chain, receiver.address, ChannelCall.claim([named])), "InvalidSignature")
      })
    )

    it.effect("collects by Permit2, with an approval by signature or without", () =>
      Effect.gen(function* () {
        const chain = yield* ready
        yield* Permit2Contracts.deploy(chain)
        const payer = payerOf(chain, 6)
        const config = configOf(chain, payer)
        const channelId = ChannelConfig.id(chain.chainId, config)
        const call = Effect.fnUntraced(function* (nonce: bigint, witness: EvmHex.Hex, approval?: bigint) {
          const terms = {
            permitted: { token: config.token, amount: 100n },
            spender: ChannelContract.permit2Collector,
            nonce,
            deadline: 2n ** 40n,
            witness: { channelId: witness }
          }
          const signature = yield* Effect.promise(() =>
            payer.signTypedData(ChannelDeposit.permitTypedData(chain.chainId, terms))
          )
          const signed = { ...terms, from: config.payer, signature }
          const permit = approval === undefined ? undefined : yield* approve(chain, payer, approval)
          const data = ChannelCall.permit2Data(signed, permit)
          return ChannelCall.deposit(config, 100n, ChannelContract.permit2Collector, data)
        })
        const from = chain.accounts.stranger.address
        assert.strictEqual(yield* answer(chain, from, yield* call(1n, channelId)), "TRANSFER_FROM_FAILED")
        assert.strictEqual(yield* answer(chain, from, yield* call(1n, channelId, 99n)), "Permit2612AmountMismatch")
        yield* send(chain, from, yield* call(1n, channelId, 100n))
        assert.deepStrictEqual(yield* standing(chain, config), [100n, 0n])
        yield* Permit2Contracts.approve(chain, payer.address)
        // The approval is used up, so the token refuses it; the deposit succeeds by the approval that is there.
        yield* send(chain, from, yield* call(2n, channelId, 100n))
        yield* send(chain, from, yield* call(3n, channelId))
        assert.deepStrictEqual(yield* standing(chain, config), [300n, 0n])
        const other = yield* call(4n, TestChannel.word(4))
        assert.strictEqual(yield* answer(chain, from, other), "InvalidSigner")
      })
    )

    it.effect("has the topics by which its events are read", () =>
      Effect.sync(() => {
        const events = abi.filter((item) => item.type === "event")
        const selectors = Object.fromEntries(events.map((event) => [event.name, toEventSelector(event)]))
        assert.deepInclude(selectors, ChannelEvent.topics)
        assert.strictEqual(
          selectors["ChannelCreated"],
          "0x69d8248d5566bdb2ebc4d218970710d8378a2ff9b709a999e052b71970f808fa"
        )
        assert.strictEqual(
          selectors["ChannelClosed"],
          "0x8d5942f197f362dfd44dfdc1b0b7a9721c9151b67f55817c83349271d3c08d37"
        )
      })
    )
  })
})
