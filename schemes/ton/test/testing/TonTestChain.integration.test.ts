import { assert, describe, layer } from "@effect/vitest"
import {
  type Address,
  beginCell,
  Cell,
  contractAddress,
  internal,
  SendMode,
  toNano,
  type Transaction,
  type TupleItem
} from "@ton/core"
import { JettonMaster, JettonWallet } from "@ton/ton"
import * as Effect from "effect/Effect"

import { ForeignWallet, LyingMinter, SwallowingWallet, TestJetton, TonTestChain } from "../../src/testing/index.ts"
import * as TonTestTransfer from "./TonTestTransfer.ts"

const chain = TonTestChain.TonTestChain

/** The transactions that follow from one, each found by the message that caused it. */
const traceFrom = async (shape: TonTestChain.Shape, first: Transaction): Promise<ReadonlyArray<Transaction>> => {
  const followed = first.outMessages.values().map(async ({ info }) => {
    if (info.type !== "internal") return []
    const next = await shape.client.tryLocateResultTx(info.src, info.dest, info.createdLt.toString())
    return traceFrom(shape, next)
  })
  return [first, ...(await Promise.all(followed)).flat()]
}

const last = async ({ client }: TonTestChain.Shape, address: Address): Promise<Transaction> => {
  const [transaction] = await client.getTransactions(address, { limit: 1 })
  assert.isDefined(transaction)
  return transaction
}

const failure = async (promise: Promise<unknown>): Promise<string> => {
  const answered = await promise.then(
    () => "nothing failed",
    (cause: { readonly response?: { readonly data?: { readonly error?: string } } }) => cause.response?.data?.error
  )
  return answered ?? "no words"
}

describe("TonTestChain", () => {
  layer(TonTestChain.layer({ payers: 8 }), { excludeTestServices: true })((it) => {
    it.effect("has the same accounts and jettons in every run", () =>
      Effect.gen(function* () {
        const { accounts, globalId, governed, jetton, network } = yield* chain
        assert.strictEqual(network, "ton:local")
        assert.strictEqual(globalId, -217)
        assert.strictEqual(accounts.payers[0].raw, "0:c7972f5d82c9b5fff2666c4f1fe7dfca96d0f620441fa04483695bf53dfa03b5")
        assert.strictEqual(accounts.payers[0].wallet.walletId.networkGlobalId, globalId)
        assert.notStrictEqual(jetton.raw, governed.raw)
        assert.strictEqual(new Set([...accounts.payers, ...accounts.newcomers].map(({ raw }) => raw)).size, 11)
      })
    )

    it.effect("gives buyers jettons and no TON, relayers and veterans TON, the payee nothing", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, client, coins, governed } = yield* chain
        const [newcomer] = accounts.newcomers
        const [veteran] = accounts.veterans
        for (const { address } of [accounts.payers[7] ?? accounts.payers[0], newcomer, veteran]) {
          assert.strictEqual(yield* balanceOf(address), 1_000_000_000n)
          assert.strictEqual(yield* balanceOf(address, governed), 1_000_000_000n)
        }
        assert.strictEqual(yield* coins(accounts.payers[7]?.address ?? newcomer.address), 0n)
        assert.strictEqual(yield* coins(newcomer.address), 0n)
        assert.isAbove(Number(yield* coins(veteran.address)), 0)
        assert.isAbove(Number(yield* coins(accounts.relayers[3].address)), 0)
        const deployed = (address: Address) => Effect.promise(() => client.isContractDeployed(address))
        assert.isTrue(yield* deployed(accounts.payers[0].address))
        assert.isTrue(yield* deployed(veteran.address))
        assert.isFalse(yield* deployed(newcomer.address))
        assert.isFalse(yield* deployed(accounts.payee.address))
      })
    )

    it.effect("shows the jetton to TON's own client", () =>
      Effect.gen(function* () {
        const { accounts, client, jetton } = yield* chain
        const [payer] = accounts.payers
        const master = client.open(JettonMaster.create(jetton.address))
        const wallet = yield* Effect.promise(() => master.getWalletAddress(payer.address))
        assert.isTrue(wallet.equals(jetton.walletOf(payer.address)))
        const balance = yield* Effect.promise(() => client.open(JettonWallet.create(wallet)).getBalance())
        assert.strictEqual(balance, 1_000_000_000n)
        const { adminAddress, mintable, totalSupply } = yield* Effect.promise(() => master.getJettonData())
        assert.isTrue(adminAddress?.equals(accounts.deployer.address))
        assert.isTrue(mintable)
        assert.strictEqual(totalSupply, 14n * 1_000_000_000n)
      })
    )

    it.effect("deploys a jetton and mints it, by TON's own client", () =>
      Effect.gen(function* () {
        const { accounts, client, time } = yield* chain
        const { secretKey, wallet } = accounts.stranger
        const { jetton, minter } = TestJetton.make("plain", accounts.stranger.address)
        const timeout = (yield* time) + 60
        const opened = client.open(wallet)
        const order = (body: Cell, init?: ReturnType<typeof minter>) =>
          Effect.promise(async () =>
            opened.sendTransfer({
              seqno: await opened.getSeqno(),
              secretKey,
              timeout,
              sendMode: SendMode.PAY_GAS_SEPARATELY + SendMode.IGNORE_ERRORS,
              messages: [internal({ to: jetton.address, value: toNano("0.2"), body, ...(init && { init }) })]
            })
          )
        yield* order(Cell.EMPTY, minter(0n))
        yield* order(TestJetton.mintBody(accounts.stranger.address, 5n))
        const holding = client.open(JettonWallet.create(jetton.walletOf(accounts.stranger.address)))
        assert.strictEqual(yield* Effect.promise(() => holding.getBalance()), 5n)
      })
    )

    it.effect("executes a gasless payment in five hops that all succeed, once", () =>
      Effect.gen(function* () {
        const shape = yield* chain
        const { accounts, balanceOf, client, coins, credits, jetton, send } = shape
        const [relayer] = accounts.relayers
        const transfer = yield* TonTestTransfer.usual
        const message = TonTestTransfer.carried(transfer, toNano("0.05"))
        const before = yield* coins(relayer.address)
        const { seqno } = yield* shape.head
        yield* send(relayer, message)
        assert.strictEqual(yield* coins(transfer.payer.address), 0n)
        assert.strictEqual(yield* balanceOf(transfer.payer.address), 1_000_000_000n - 10_000n)
        assert.strictEqual(yield* balanceOf(accounts.payee.address), 10_000n)
        const cost = Number(before - (yield* coins(relayer.address)))
        assert.isAbove(cost, 10_000_000)
        assert.isBelow(cost, 40_000_000)

        const excess = yield* Effect.promise(() => last(shape, relayer.address))
        const source = excess.inMessage?.info
        assert(source?.type === "internal")
        assert.isTrue(source.src.equals(jetton.walletOf(accounts.payee.address)))
        const [, first] = yield* Effect.promise(() => client.getTransactions(relayer.address, { limit: 2 }))
        assert.isDefined(first)
        const trace = yield* Effect.promise(() => traceFrom(shape, first))
        assert.deepStrictEqual(trace.map(TonTestTransfer.exitCode), [0, 0, 0, 0, 0])
        const paid = trace[3]
        assert.isDefined(paid)
        const [credit] = yield* credits(accounts.payee.address)
        assert.isDefined(credit)
        const { block, ...said } = credit
        assert.deepStrictEqual(said, {
          queryId: 7n,
          amount: 10_000n,
          from: transfer.payer.raw,
          transaction: paid.hash().toString("hex"),
          lt: paid.lt
        })
        // The chain may have made another block since.
        assert.isAbove(block, seqno)
        assert.isAtMost(block, (yield* shape.head).seqno)

        yield* send(relayer, message)
        assert.strictEqual((yield* credits(accounts.payee.address)).length, 1)
        const refused = yield* Effect.promise(() => client.getTransactions(transfer.payer.address, { limit: 1 }))
        assert.deepStrictEqual(refused.map(TonTestTransfer.exitCode), [133])
      })
    )

    it.effect("refuses a message from outside that was sent before, and one that is signed for a relayer", () =>
      Effect.gen(function* () {
        const { accounts, client, jetton, time } = yield* chain
        const { address, secretKey, wallet } = accounts.relayers[1]
        const timeout = (yield* time) + 60
        const messages = [internal({ to: accounts.stranger.address, value: 1n })]
        const sendMode = SendMode.PAY_GAS_SEPARATELY + SendMode.IGNORE_ERRORS
        const body = wallet.createTransfer({ seqno: 0, secretKey, timeout, sendMode, messages })
        const bytes = TonTestTransfer.envelope(address, body)
        yield* Effect.promise(() => client.sendFile(bytes))
        const again = yield* Effect.promise(() => failure(client.sendFile(bytes)))
        const account = address.hash.toString("hex").toUpperCase()
        assert.include(again, "External message was not accepted")
        assert.include(again, `rejected by transaction ${account}:\nexitcode=133,`)
        const payer = accounts.payers[1] ?? accounts.payers[0]
        const transfer = { ...(yield* TonTestTransfer.usual), payer, jetton }
        const outside = TonTestTransfer.envelope(payer.address, TonTestTransfer.signed(transfer))
        assert.include(
          yield* Effect.promise(() => failure(client.sendFile(outside))),
          "before smart-contract execution"
        )
        const rich = TonTestTransfer.envelope(accounts.relayers[2].address, TonTestTransfer.signed(transfer))
        assert.include(yield* Effect.promise(() => failure(client.sendFile(rich))), "exitcode=138,")
      })
    )

    it.effect("deploys a newcomer's wallet with the payment", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, client, coins, send } = yield* chain
        const [payer] = accounts.newcomers
        const transfer = { ...(yield* TonTestTransfer.usual), payer }
        yield* send(accounts.relayers[0], TonTestTransfer.carried(transfer, toNano("0.05"), false))
        assert.strictEqual(yield* balanceOf(payer.address), 1_000_000_000n - 10_000n)
        assert.isTrue(yield* Effect.promise(() => client.isContractDeployed(payer.address)))
        assert.strictEqual(yield* coins(payer.address), 0n)
      })
    )

    it.effect("lets a veteran pay for itself", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, client, jetton, time } = yield* chain
        const [{ address, secretKey, wallet }] = accounts.veterans
        const timeout = (yield* time) + 60
        const base = { ...(yield* TonTestTransfer.usual), excessTo: address }
        const message = internal({
          to: jetton.walletOf(address),
          value: toNano("0.05"),
          body: TonTestTransfer.body(base)
        })
        const sendMode = SendMode.PAY_GAS_SEPARATELY
        yield* Effect.promise(() =>
          client.open(wallet).sendTransfer({ seqno: 0, secretKey, timeout, sendMode, messages: [message] })
        )
        assert.strictEqual(yield* balanceOf(address), 1_000_000_000n - 10_000n)
      })
    )

    it.effect("bounces a transfer to a locked wallet, and stops one from it", () =>
      Effect.gen(function* () {
        const shape = yield* chain
        const { accounts, balanceOf, client, credits, governed, lock, send } = shape
        const payer = accounts.payers[2] ?? accounts.payers[0]
        const transfer = { ...(yield* TonTestTransfer.usual), payer, jetton: governed }
        yield* lock(accounts.payee.address, 2)
        yield* send(accounts.relayers[0], TonTestTransfer.carried(transfer, toNano("0.05")))
        assert.strictEqual(yield* balanceOf(payer.address, governed), 1_000_000_000n)
        assert.deepStrictEqual(yield* credits(accounts.payee.address, governed), [])
        const [first] = yield* Effect.promise(() => client.getTransactions(accounts.relayers[0].address, { limit: 1 }))
        assert.isDefined(first)
        const trace = yield* Effect.promise(() => traceFrom(shape, first))
        assert.deepStrictEqual(trace.map(TonTestTransfer.exitCode), [0, 0, 0, 45, 0])

        yield* lock(accounts.payee.address, 0)
        yield* lock(payer.address, 1)
        yield* send(accounts.relayers[0], TonTestTransfer.carried({ ...transfer, seqno: 1 }, toNano("0.05")))
        assert.strictEqual(yield* balanceOf(accounts.payee.address, governed), 0n)
        const status = yield* Effect.promise(() => client.runMethod(governed.walletOf(payer.address), "get_status"))
        assert.strictEqual(status.stack.readNumber(), 1)

        yield* lock(payer.address, 0)
        yield* send(accounts.relayers[0], TonTestTransfer.carried({ ...transfer, seqno: 2 }, toNano("0.05")))
        assert.strictEqual(yield* balanceOf(accounts.payee.address, governed), 10_000n)
      })
    )

    it.effect("mints on demand", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, credits, governed, mint } = yield* chain
        const { address } = accounts.relayers[3]
        yield* mint(address, 11n)
        yield* mint(address, 12n, governed)
        assert.strictEqual(yield* balanceOf(address), 11n)
        assert.strictEqual(yield* balanceOf(address, governed), 12n)
        const [credit] = yield* credits(address)
        assert.strictEqual(credit?.amount, 11n)
        assert.isUndefined(credit?.from)
      })
    )

    it.effect("has a foreign wallet whose transfers a real wallet refuses", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, credits, install, jetton, send, transactions } = yield* chain
        const { payee, stranger } = accounts
        const victim = jetton.walletOf(stranger.address)
        const data = beginCell()
          .storeCoins(5_000_000n)
          .storeAddress(stranger.address)
          .storeAddress(jetton.address)
          .storeAddress(victim)
          .endCell()
        yield* install(TestJetton.make("plain", accounts.deployer.address).wallet(stranger.address, 0n), 10_000_000n)
        const foreign = yield* install({ code: Cell.fromBase64(ForeignWallet.code), data }, toNano("1"))
        const transfer = { ...(yield* TonTestTransfer.usual), to: stranger.address }
        const body = TonTestTransfer.body(transfer)
        yield* send(stranger, internal({ to: foreign, value: toNano("0.1"), body }))
        assert.deepStrictEqual((yield* transactions(victim)).map(TonTestTransfer.exitCode), [74])
        assert.strictEqual(yield* balanceOf(stranger.address), 0n)
        assert.deepStrictEqual(yield* credits(stranger.address), [])
        assert.isFalse(foreign.equals(jetton.walletOf(payee.address)))
      })
    )

    it.effect("has a wallet that swallows its messages, and a master that lies", () =>
      Effect.gen(function* () {
        const { accounts, client, coins, install, send, transactions } = yield* chain
        const { wallet } = accounts.payers[3] ?? accounts.payers[0]
        const code = Cell.fromBase64(SwallowingWallet.code)
        const swallower = yield* install({ code, data: wallet.init.data }, 0n)
        const seqno = yield* Effect.promise(() => client.runMethod(swallower, "seqno"))
        assert.strictEqual(seqno.stack.readNumber(), 0)
        const body = TonTestTransfer.signed(yield* TonTestTransfer.usual)
        yield* send(accounts.relayers[0], internal({ to: swallower, value: toNano("0.05"), body }))
        assert.deepStrictEqual(
          (yield* transactions(swallower)).map(({ outMessagesCount }) => outMessagesCount),
          [0]
        )
        assert.isAbove(Number(yield* coins(swallower)), Number(toNano("0.04")))

        const data = beginCell().storeAddress(swallower).storeRef(Cell.EMPTY).endCell()
        const liar = yield* install({ code: Cell.fromBase64(LyingMinter.code), data }, 0n)
        const owner: TupleItem = {
          type: "slice",
          cell: beginCell().storeAddress(accounts.payee.address).endCell()
        }
        const answer = yield* Effect.promise(() => client.runMethod(liar, "get_wallet_address", [owner]))
        assert.isTrue(answer.stack.readAddress().equals(swallower))
      })
    )

    it.effect("sets an account's TON", () =>
      Effect.gen(function* () {
        const { accounts, client, setCoins } = yield* chain
        const { address } = accounts.relayers[3]
        yield* setCoins(address, 3n)
        assert.strictEqual(yield* Effect.promise(() => client.getBalance(address)), 3n)
      })
    )

    it.effect("knows the address of a contract by its state", () =>
      Effect.gen(function* () {
        const { install } = yield* chain
        const init = { code: Cell.fromBase64(SwallowingWallet.code), data: Cell.EMPTY }
        assert.isTrue((yield* install(init, 1n)).equals(contractAddress(0, init)))
      })
    )
  })
})
