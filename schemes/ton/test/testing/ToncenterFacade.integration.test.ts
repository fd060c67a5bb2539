import { assert, describe, it, layer } from "@effect/vitest"
import { Address, beginCell, Cell, comment, Dictionary, external, internal, storeMessage, toNano } from "@ton/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

import { ToncenterFault, TonTestChain } from "../../src/testing/index.ts"
import * as TonTestTransfer from "./TonTestTransfer.ts"

const chain = TonTestChain.TonTestChain

interface Answer {
  readonly status: number
  readonly ok?: boolean
  readonly result?: unknown
  readonly error?: string
}

/** Sends bytes as a request; `undefined` when the connection breaks. */
const post = (url: string, body: string, init: RequestInit = {}): Effect.Effect<Answer | undefined> =>
  Effect.promise(async () => {
    try {
      const response = await fetch(url, { method: "POST", body, ...init })
      const answer = (await response.json()) as Omit<Answer, "status">
      return { ...answer, status: response.status }
    } catch {
      return undefined
    }
  })

const ask = Effect.fnUntraced(function* (method: string, params: unknown = {}) {
  const { rpcUrl } = yield* chain
  return yield* post(rpcUrl, JSON.stringify({ id: "1", jsonrpc: "2.0", method, params }))
})

/** More than the storage costs here. */
const parcel = 1_000_000n

/** A well-signed message from the relayer. */
const message = Effect.gen(function* () {
  const { accounts, client, time } = yield* chain
  const { address, secretKey, wallet } = accounts.relayers[0]
  const seqno = yield* Effect.promise(() => client.open(wallet).getSeqno())
  const messages = [internal({ to: accounts.stranger.address, value: parcel, bounce: false })]
  const timeout = (yield* time) + 60
  return TonTestTransfer.envelope(
    address,
    wallet.createTransfer({ seqno, secretKey, timeout, sendMode: TonTestTransfer.sendMode, messages })
  )
})

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")

/** A tree of `levels` levels, each with the one below it four times: 4^levels cells, few of them different. */
const bomb = (levels: number): Cell => {
  let cell = Cell.EMPTY
  for (let level = 0; level < levels; level++) {
    cell = beginCell().storeRef(cell).storeRef(cell).storeRef(cell).storeRef(cell).endCell()
  }
  return cell
}

/** A chain of nested cells, of this depth, with this number of bytes in each. */
const tower = (depth: number, bytes = 0): Cell => {
  let cell = Cell.EMPTY
  for (let level = 0; level < depth; level++) {
    cell = beginCell().storeUint(level, 16).storeBuffer(Buffer.alloc(bytes)).storeRef(cell).endCell()
  }
  return cell
}

describe("ToncenterFacade", () => {
  layer(TonTestChain.layer({ payers: 1, newcomers: 1, veterans: 1 }), { excludeTestServices: true })((it) => {
    it.effect("shows blocks and their transactions to TON's own client", () =>
      Effect.gen(function* () {
        const { accounts, client, head, send } = yield* chain
        const transfer = yield* TonTestTransfer.usual
        yield* send(accounts.relayers[0], TonTestTransfer.carried(transfer, toNano("0.05")))
        const { seqno, transactions } = yield* head
        const info = yield* Effect.promise(() => client.getMasterchainInfo())
        assert.isAtLeast(info.latestSeqno, seqno)
        const [shard] = yield* Effect.promise(() => client.getWorkchainShards(seqno))
        assert(shard !== undefined)
        assert.strictEqual(shard.seqno, seqno)
        assert.strictEqual(shard.workchain, 0)
        const listed = yield* Effect.promise(() => client.getShardTransactions(0, seqno, shard.shard))
        assert.deepStrictEqual(
          listed.map(({ account, hash, lt }) => [
            account.toRawString(),
            Buffer.from(hash, "base64").toString("hex"),
            lt
          ]),
          transactions.map(({ account, hash, lt }) => [account, hash, lt.toString()])
        )
        assert.strictEqual(listed.length, 5)
        assert.deepStrictEqual(yield* Effect.promise(() => client.getShardTransactions(-1, seqno, shard.shard)), [])
      })
    )

    it.effect("returns a block's time and the chain's id, which a client checks first", () =>
      Effect.gen(function* () {
        const { globalId, head } = yield* chain
        yield* ask("getMasterchainInfo")
        const { seqno, utime } = yield* head
        const header = yield* ask("getBlockHeader", { workchain: -1, shard: "-9223372036854775808", seqno })
        assert.containsSubset(header?.result, { global_id: globalId, gen_utime: utime, id: { seqno, workchain: -1 } })
        const found = yield* ask("lookupBlock", { workchain: -1, shard: "-9223372036854775808", seqno })
        assert.containsSubset(found?.result, { seqno, workchain: -1 })
        const unknown = yield* ask("lookupBlock", { workchain: -1, shard: "-9223372036854775808", seqno: seqno + 50 })
        assert.include(unknown?.error, "LITE_SERVER_NOTREADY")
        const consensus = yield* ask("getConsensusBlock")
        // A request in another second finds another block.
        const newest = yield* head
        assert.deepStrictEqual(consensus?.result, { consensus_block: newest.seqno, timestamp: newest.utime })
      })
    )

    it.effect("pages through an account's transactions from the newest back", () =>
      Effect.gen(function* () {
        const { accounts, client, send } = yield* chain
        const { address } = accounts.relayers[1]
        for (const value of [1n, 2n, 3n]) {
          yield* send(accounts.relayers[1], internal({ to: accounts.stranger.address, value, bounce: false }))
        }
        const all = yield* Effect.promise(() => client.getTransactions(address, { limit: 10 }))
        const lts = all.map(({ lt }) => lt)
        assert.strictEqual(all.length, 3)
        assert.deepStrictEqual(
          lts,
          lts.toSorted((one, other) => Number(other - one))
        )
        const [newest, middle, oldest] = all
        assert(newest !== undefined && middle !== undefined && oldest !== undefined)
        const from = { limit: 5, lt: middle.lt.toString(), hash: middle.hash().toString("base64") }
        const later = yield* Effect.promise(() => client.getTransactions(address, { ...from, inclusive: true }))
        assert.deepStrictEqual(
          later.map(({ lt }) => lt),
          [middle.lt, oldest.lt]
        )
        const until = { limit: 5, to_lt: oldest.lt.toString() }
        const recent = yield* Effect.promise(() => client.getTransactions(address, until))
        assert.deepStrictEqual(
          recent.map(({ lt }) => lt),
          [newest.lt, middle.lt]
        )
        const one = yield* Effect.promise(() => client.getTransaction(address, from.lt, from.hash))
        assert.strictEqual(one?.hash().toString("base64"), from.hash)
        const nowhere = yield* ask("getTransactions", { address: address.toString(), lt: "17", hash: "00" })
        assert.include(nowhere?.error, "lt not in db")
        const many = yield* ask("getTransactions", { address: address.toString(), limit: 101 })
        assert.strictEqual(many?.status, 422)
      })
    )

    it.effect("finds the cause and the result of a message", () =>
      Effect.gen(function* () {
        const { accounts, client, send } = yield* chain
        const [, , sender] = accounts.relayers
        const to = accounts.stranger.address
        yield* send(sender, internal({ to, value: 77n, bounce: false, body: comment("hello") }))
        const [sent] = yield* Effect.promise(() => client.getTransactions(sender.address, { limit: 1 }))
        const info = sent?.outMessages.get(0)?.info
        assert(sent !== undefined && info?.type === "internal")
        const lt = info.createdLt.toString()
        const result = yield* Effect.promise(() => client.tryLocateResultTx(sender.address, to, lt))
        assert.isTrue(result.inMessage?.body.equals(comment("hello")))
        const source = yield* Effect.promise(() => client.tryLocateSourceTx(sender.address, to, lt))
        assert.isTrue(source.hash().equals(sent.hash()))
        const nobody = { source: to.toString(), destination: sender.address.toString(), created_lt: lt }
        assert.include((yield* ask("tryLocateResultTx", nobody))?.error, "message not found")
      })
    )

    it.effect("returns -13 for a get method of a missing account, 11 for an unknown method", () =>
      Effect.gen(function* () {
        const { accounts, client } = yield* chain
        const nothing = yield* Effect.promise(() => client.runMethodWithError(accounts.payee.address, "seqno"))
        assert.strictEqual(nothing.exit_code, -13)
        const [relayer] = accounts.relayers
        const unknown = yield* Effect.promise(() => client.runMethodWithError(relayer.address, "get_wallet_id"))
        assert.strictEqual(unknown.exit_code, 11)
        const extensions = yield* Effect.promise(() => client.open(relayer.wallet).getExtensionsArray())
        assert.deepStrictEqual(extensions, [])
      })
    )

    it.effect("estimates the cost of a message", () =>
      Effect.gen(function* () {
        const { accounts, client, time } = yield* chain
        const { address, secretKey, wallet } = accounts.relayers[3]
        const timeout = (yield* time) + 60
        const messages = [internal({ to: accounts.stranger.address, value: 1n, bounce: false })]
        const body = wallet.createTransfer({
          seqno: 0,
          secretKey,
          timeout,
          sendMode: TonTestTransfer.sendMode,
          messages
        })
        const estimate = yield* Effect.promise(() =>
          client.estimateExternalMessageFee(address, { body, initCode: null, initData: null, ignoreSignature: true })
        )
        yield* Effect.promise(() => client.sendFile(TonTestTransfer.envelope(address, body)))
        const [transaction] = yield* Effect.promise(() => client.getTransactions(address, { limit: 1 }))
        assert(transaction?.description.type === "generic" && transaction.description.computePhase.type === "vm")
        const { gas_fee, in_fwd_fee, fwd_fee } = estimate.source_fees
        assert.strictEqual(BigInt(gas_fee), transaction.description.computePhase.gasFees)
        assert.strictEqual(BigInt(fwd_fee), transaction.description.actionPhase?.totalFwdFees ?? 0n)
        assert.isAbove(in_fwd_fee, 0)
      })
    )

    it.effect("returns the chain's configuration, whole and by parameter, and an account as a cell", () =>
      Effect.gen(function* () {
        const { accounts, client, coins, globalId } = yield* chain
        const cellOf = Effect.fnUntraced(function* (method: string, params: unknown) {
          const answer = yield* ask(method, params)
          const result = answer?.result as { readonly config?: { bytes: string }; readonly bytes?: string } | undefined
          return Cell.fromBase64(result?.config?.bytes ?? result?.bytes ?? "")
        })
        const dictionary = (yield* cellOf("getConfigAll", {}))
          .beginParse()
          .loadDictDirect(Dictionary.Keys.Int(32), Dictionary.Values.Cell())
        for (const param of [18, 20, 21, 24, 25]) {
          assert.isTrue(dictionary.get(param)?.equals(yield* cellOf("getConfigParam", { param })))
          assert.isTrue(dictionary.get(param)?.equals(yield* cellOf("getConfigParam", { config_id: param })))
        }
        assert.strictEqual(dictionary.get(19)?.beginParse().loadInt(32), globalId)
        assert.include((yield* ask("getConfigParam", { param: 999 }))?.error, "not found")
        const [relayer] = accounts.relayers
        const address = relayer.address.toString()
        const { result } = (yield* ask("getAddressInformation", { address })) ?? {}
        assert.containsSubset(result, { balance: (yield* coins(relayer.address)).toString(), state: "active" })
        assert.strictEqual((yield* cellOf("getShardAccountCell", { address })).refs.length, 1)
        const balance = yield* Effect.promise(() => client.getBalance(relayer.address))
        assert.strictEqual(balance, yield* coins(relayer.address))
      })
    )

    it.effect("reads as of a named block", () =>
      Effect.gen(function* () {
        const { accounts, coins, head, send } = yield* chain
        const { address } = accounts.payee
        const { seqno } = yield* head
        const before = yield* coins(address)
        yield* send(accounts.stranger, internal({ to: address, value: parcel, bounce: false }))
        const old = yield* ask("getAddressInformation", { address: address.toString(), seqno })
        assert.containsSubset(old?.result, { balance: before.toString(), block_id: { seqno } })
        const young = yield* ask("getAddressInformation", { address: address.toString() })
        const result = young?.result as { readonly balance: string } | undefined
        assert.isAbove(Number(result?.balance), Number(before))
      })
    )

    it.effect("returns the hash of an accepted message", () =>
      Effect.gen(function* () {
        const bytes = yield* message
        const answer = yield* ask("sendBocReturnHash", { boc: base64(bytes) })
        const hash = Cell.fromBoc(bytes)[0]?.hash().toString("base64")
        assert.deepStrictEqual(answer?.result, { "@type": "raw.extMessageInfo", hash })
      })
    )

    it.effect("fails by a fault, a number of times, until it is mended", () =>
      Effect.gen(function* () {
        const { calls, client, mend, spoil } = yield* chain
        const health = ask("getMasterchainInfo")
        yield* spoil("getMasterchainInfo", ToncenterFault.Broken(), 1)
        assert.isUndefined(yield* health)
        assert.isTrue((yield* health)?.ok)
        yield* spoil("*", ToncenterFault.Status({ status: 429 }))
        assert.deepInclude(yield* health, { status: 429, ok: false, error: "Ratelimit exceed" })
        assert.strictEqual((yield* ask("shards", { seqno: 1 }))?.status, 429)
        yield* spoil("getMasterchainInfo", ToncenterFault.Status({ status: 500 }))
        assert.deepInclude(yield* health, { status: 500, error: "Internal error" })
        yield* spoil("getMasterchainInfo", ToncenterFault.Refusing({ message: "LITE_SERVER_NETWORK: timeout" }))
        assert.deepInclude(yield* health, { status: 500, error: "LITE_SERVER_NETWORK: timeout" })
        yield* spoil("getMasterchainInfo", ToncenterFault.Garbage())
        const page = yield* Effect.promise(() => client.getMasterchainInfo().then(String, () => "refused"))
        assert.strictEqual(page, "refused")
        const counted = yield* calls
        yield* mend
        assert.isTrue((yield* health)?.ok)
        const again = yield* calls
        assert.strictEqual((again.get("getMasterchainInfo") ?? 0) - (counted.get("getMasterchainInfo") ?? 0), 1)
      })
    )

    it.effect("stays silent on demand", () =>
      Effect.gen(function* () {
        const { mend, rpcUrl, spoil } = yield* chain
        yield* spoil("getMasterchainInfo", ToncenterFault.Silent(), 1)
        const body = JSON.stringify({ method: "getMasterchainInfo" })
        const silent = post(rpcUrl, body, { signal: AbortSignal.timeout(50) })
        const other = yield* Effect.all([silent, ask("getConsensusBlock")], { concurrency: "unbounded" })
        assert.isUndefined(other[0])
        assert.isTrue(other[1]?.ok)
        yield* mend
      })
    )

    it.effect("accepts a message and loses the response, or confirms one and drops it", () =>
      Effect.gen(function* () {
        const { accounts, client, coins, spoil } = yield* chain
        const { address } = accounts.stranger
        const before = yield* coins(address)
        yield* spoil("sendBoc", ToncenterFault.LostAnswer(), 1)
        const first = base64(yield* message)
        assert.isUndefined(yield* ask("sendBoc", { boc: first }))
        const after = yield* coins(address)
        assert.isAbove(Number(after), Number(before))
        assert.include((yield* ask("sendBoc", { boc: first }))?.error, "exitcode=133")

        yield* spoil("sendBoc", ToncenterFault.Dropped(), 1)
        const second = yield* message
        yield* Effect.promise(() => client.sendFile(second))
        assert.strictEqual(yield* coins(address), after)
        yield* Effect.promise(() => client.sendFile(second))
        assert.isAbove(Number(yield* coins(address)), Number(after))
      })
    )

    it.effect("lags behind: an older state, older transactions, an older head", () =>
      Effect.gen(function* () {
        const { accounts, client, head, mend, send, setBlocks, spoil } = yield* chain
        const { address } = accounts.payee
        const balance = Effect.promise(() => client.getBalance(address))
        const transactions = Effect.promise(() => client.getTransactions(address, { limit: 100 }))
        const before = [yield* balance, (yield* transactions).length, (yield* head).seqno]
        yield* send(accounts.stranger, internal({ to: address, value: parcel, bounce: false }))
        // No block is made during the requests, even on a busy machine.
        yield* setBlocks("manual")
        yield* spoil("*", ToncenterFault.Lagging({ blocks: (yield* head).seqno - Number(before[2]) }))
        const { latestSeqno } = yield* Effect.promise(() => client.getMasterchainInfo())
        assert.deepStrictEqual([yield* balance, (yield* transactions).length, latestSeqno], before)
        yield* mend
        yield* setBlocks("instant")
        assert.isAbove(Number(yield* balance), Number(before[0]))
      })
    )

    it.effect("refuses malformed requests with the API's texts", () =>
      Effect.gen(function* () {
        const { accounts, rpcUrl } = yield* chain
        const status = (body: string) => Effect.map(post(rpcUrl, body), (answer) => answer?.status)
        for (const body of ["", "{", "[]", "null", "1", '"x"', "{}", '{"method":1}', '{"method":"x","id":{}}']) {
          assert.strictEqual(yield* status(body), 422, body)
        }
        assert.strictEqual(yield* status("[".repeat(200_000)), 422)
        assert.strictEqual(yield* status(`{"method":"shards","params":${"[".repeat(9)}${"]".repeat(9)}}`), 422)
        assert.strictEqual(yield* status('{"method":"constructor"}'), 404)
        assert.strictEqual((yield* ask("getAddressInformation", {}))?.status, 422)
        assert.strictEqual((yield* ask("getAddressInformation", { address: "EQnonsense" }))?.status, 416)
        const address = accounts.relayers[0].address.toString()
        for (const stack of [[["num", "x"]], [["cell", "@"]], [["cell", "te6"]], [["oops", "te6ccgEBAQEAAgAAAA=="]]]) {
          assert.strictEqual((yield* ask("runGetMethod", { address, method: "seqno", stack }))?.status, 422)
        }
        const get = yield* Effect.promise(() => fetch(rpcUrl))
        assert.strictEqual(get.status, 405)
        assert.strictEqual((yield* post(`${rpcUrl}/other`, "{}"))?.status, 404)
      })
    )

    it.effect("reads no more of a body than the limit", () =>
      Effect.gen(function* () {
        const { rpcUrl } = yield* chain
        const answer = yield* post(rpcUrl, `{"method":"x","params":"${"a".repeat(4_000_000)}"}`)
        // Either the refusal arrives, or the connection is closed before the body was sent.
        assert.isTrue(answer === undefined || answer.status === 413)
        assert.isTrue((yield* ask("getMasterchainInfo"))?.ok)
      })
    )

    it.effect("refuses messages that are too large, too deep, not messages at all, or bombs; and survives", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const { address } = accounts.relayers[0]
        const outside = (body: Cell, to: Address = address) =>
          base64(
            beginCell()
              .store(storeMessage(external({ to, body })))
              .endCell()
              .toBoc()
          )
        const inside = beginCell().storeUint(0, 1).storeUint(0, 600).endCell().toBoc()
        const refusals = {
          bombed: outside(bomb(60)),
          bombedStranger: outside(bomb(60), new Address(0, Buffer.alloc(32, 7))),
          deep: outside(tower(600)),
          large: outside(tower(700, 100)),
          internal: base64(inside),
          empty: base64(Cell.EMPTY.toBoc()),
          garbage: base64(Buffer.from("not a bag of cells")),
          nothing: ""
        }
        for (const [name, boc] of Object.entries(refusals)) {
          const answer = yield* ask("sendBoc", { boc })
          assert.strictEqual(answer?.status, 500, name)
          assert.include(answer?.error, "LITE_SERVER_UNKNOWN", name)
        }
        assert.include((yield* ask("sendBoc", { boc: refusals.large }))?.error, "too big")
        assert.include((yield* ask("sendBoc", { boc: refusals.deep }))?.error, "too deep")
        assert.strictEqual((yield* ask("sendBoc", { boc: "%%" }))?.status, 422)
        assert.isTrue((yield* ask("getMasterchainInfo"))?.ok)
      })
    )
  })

  it.effect("closes with its scope, also with a waiting connection", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const options = { payers: 1, newcomers: 1, veterans: 1 }
      const { rpcUrl, spoil } = yield* Scope.provide(TonTestChain.make(options), scope)
      yield* spoil("*", ToncenterFault.Silent())
      const waiting = post(rpcUrl, JSON.stringify({ method: "getMasterchainInfo" }))
      const closing = Effect.andThen(
        Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
        Scope.close(scope, Exit.void)
      )
      const [answer] = yield* Effect.all([waiting, closing], { concurrency: "unbounded" })
      assert.isUndefined(answer)
      assert.isUndefined(yield* post(rpcUrl, "{}"))
    })
  )

  it.effect("names the port that is not available", () =>
    Effect.gen(function* () {
      const options = { payers: 1, newcomers: 1, veterans: 1 }
      const { rpcUrl } = yield* TonTestChain.make(options)
      const port = Number(new URL(rpcUrl).port)
      const { message: words } = yield* Effect.flip(TonTestChain.make({ ...options, port }))
      assert.strictEqual(words, `The port ${port} is not available`)
    })
  )
})
