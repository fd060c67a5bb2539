import { assert, describe, layer } from "@effect/vitest"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import { keccak256 } from "viem"

import * as RpcChaos from "../../src/faults/RpcChaos.ts"
import { type RpcFault, rpcFaults } from "../../src/faults/RpcFault.ts"
import * as TrialRandom from "../../src/world/TrialRandom.ts"

type Answer =
  | { readonly jsonrpc: string; readonly id: number; readonly result?: unknown; readonly error?: unknown }
  | number
  | "broken"

/** The response's JSON, or its status where it is no 200, or `broken` where there is none. */
const ask = (url: string, method: string, ...params: ReadonlyArray<unknown>) =>
  Effect.promise(async (): Promise<Answer> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method, params })
    try {
      const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
      return response.ok ? ((await response.json()) as Answer) : response.status
    } catch {
      return "broken"
    }
  })

const resultOf = (answer: Answer): unknown => (typeof answer === "object" ? answer.result : answer)

const start = Effect.fnUntraced(function* (...faults: ReadonlyArray<RpcFault>) {
  const chain = yield* EvmTestChain.EvmTestChain
  const random = TrialRandom.make("chaos")
  const chaos = yield* RpcChaos.make({ upstream: chain.rpcUrl, random, latencyMillis: 20, lagBlocks: 3n })
  if (faults.length > 0) chaos.storm({ faults, perMille: 1000 })
  return { chain, chaos }
})

/** A transfer of the token, signed and not sent. */
const signed = Effect.fnUntraced(function* ({ accounts, client, mint, token }: EvmTestChain.Shape) {
  const { payee, stranger } = accounts
  yield* mint(stranger.address, 5n)
  const data = `0xa9059cbb${payee.address.slice(2).padStart(64, "0")}${"5".padStart(64, "0")}` as const
  const nonce = yield* Effect.promise(() => client.getTransactionCount(stranger))
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n, gas: 100_000n }
  return yield* Effect.promise(() =>
    stranger.signTransaction({ type: "eip1559", chainId: client.chain.id, to: token.address, data, nonce, ...fees })
  )
})

describe("a node between", () => {
  layer(EvmTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("passes everything on while there is no fault, single and in batches", () =>
      Effect.gen(function* () {
        const { chain, chaos } = yield* start()
        const head = resultOf(yield* ask(chain.rpcUrl, "eth_blockNumber"))
        assert.deepStrictEqual(yield* ask(chaos.url, "eth_blockNumber"), { jsonrpc: "2.0", id: 7, result: head })
        const many = yield* Effect.promise(async () => {
          const questions = ["eth_chainId", "eth_nonsense"].map((method, id) => ({
            jsonrpc: "2.0",
            id,
            method,
            params: []
          }))
          const response = await fetch(chaos.url, { method: "POST", body: JSON.stringify(questions) })
          return (await response.json()) as ReadonlyArray<{
            readonly id: number
            readonly error?: { readonly code: number }
          }>
        })
        assert.deepStrictEqual(
          many.map(({ error, id }) => [id, error?.code]),
          [
            [0, undefined],
            [1, -32_601]
          ]
        )
        assert.deepStrictEqual(chaos.fates, [undefined, undefined])
      })
    )

    const inAnswer: ReadonlyArray<readonly [RpcFault, unknown]> = [
      ["reset", "broken"],
      ["lost-answer", "broken"],
      ["too-many", 429],
      ["server-error", 500],
      ["wrong-chain", "0x1079"],
      ["latency", "0x7a69"]
    ]
    for (const [fault, expected] of inAnswer) {
      it.effect(`shows ${fault}`, () =>
        Effect.gen(function* () {
          const { chaos } = yield* start(fault)
          assert.deepStrictEqual(resultOf(yield* ask(chaos.url, "eth_chainId")), expected)
          assert.deepStrictEqual(chaos.fates, [fault])
        })
      )
    }

    it.effect("does not know receipts, or invents them, for what was sent through it", () =>
      Effect.gen(function* () {
        const { chain, chaos } = yield* start("reset")
        const bytes = yield* signed(chain)
        const hash = keccak256(bytes)
        assert.strictEqual(yield* ask(chaos.url, "eth_sendRawTransaction", bytes), "broken")
        chaos.storm({ faults: ["forged-receipt"], perMille: 1000 })
        const forged = resultOf(yield* ask(chaos.url, "eth_getTransactionReceipt", hash)) as {
          readonly status: string
          readonly blockHash: string
          readonly logs: ReadonlyArray<{ readonly address: string; readonly blockHash: string }>
        }
        assert.strictEqual(forged.status, "0x1")
        assert.deepStrictEqual(
          forged.logs.map(({ address, blockHash }) => [address, blockHash]),
          [[chain.token.address.toLowerCase(), forged.blockHash]]
        )
        assert.isNull(resultOf(yield* ask(chain.rpcUrl, "eth_getBlockByHash", forged.blockHash, false)))
        assert.isNull(resultOf(yield* ask(chain.rpcUrl, "eth_getTransactionReceipt", hash)))
        assert.isNull(resultOf(yield* ask(chaos.url, "eth_getTransactionReceipt", `0x${"1".repeat(64)}`)))

        chaos.calm()
        yield* ask(chaos.url, "eth_sendRawTransaction", bytes)
        yield* chain.receipt(hash)
        chaos.storm({ faults: ["no-receipt"], perMille: 1000 })
        assert.isNull(resultOf(yield* ask(chaos.url, "eth_getTransactionReceipt", hash)))
        assert.deepStrictEqual(
          chaos.broadcasts.map((one) => one.hash),
          [hash, hash]
        )
      })
    )

    it.effect("is behind: in the count of blocks, in receipts and in nonces", () =>
      Effect.gen(function* () {
        const { chain, chaos } = yield* start("lag")
        yield* chain.mine(5)
        const sender = chain.accounts.stranger.address
        const before = yield* ask(chain.rpcUrl, "eth_getTransactionCount", sender, "latest")
        const { blockNumber, transactionHash } = yield* chain.send({ from: sender, to: sender })
        assert.deepStrictEqual(yield* ask(chaos.url, "eth_getTransactionCount", sender, "pending"), before)
        assert.isNull(resultOf(yield* ask(chaos.url, "eth_getTransactionReceipt", transactionHash)))
        assert.strictEqual(BigInt(String(resultOf(yield* ask(chaos.url, "eth_blockNumber")))), blockNumber - 3n)
        yield* chain.mine(3)
        assert.isNotNull(resultOf(yield* ask(chaos.url, "eth_getTransactionReceipt", transactionHash)))
      })
    )

    it.effect("asks the chain and loses the response: what was sent is on its way", () =>
      Effect.gen(function* () {
        const { chain, chaos } = yield* start("lost-answer")
        const bytes = yield* signed(chain)
        assert.strictEqual(yield* ask(chaos.url, "eth_sendRawTransaction", bytes), "broken")
        assert.strictEqual((yield* chain.receipt(keccak256(bytes))).status, "success")
      })
    )

    it.effect("accepts a transaction and forgets it", () =>
      Effect.gen(function* () {
        const { chain, chaos } = yield* start("swallowed")
        const bytes = yield* signed(chain)
        assert.strictEqual(resultOf(yield* ask(chaos.url, "eth_sendRawTransaction", bytes)), keccak256(bytes))
        assert.isNull(resultOf(yield* ask(chain.rpcUrl, "eth_getTransactionByHash", keccak256(bytes))))
      })
    )

    it.effect("can be cut and mended", () =>
      Effect.gen(function* () {
        const { chaos } = yield* start()
        chaos.cut(true)
        assert.strictEqual(yield* ask(chaos.url, "eth_chainId"), "broken")
        chaos.cut(false)
        assert.strictEqual(resultOf(yield* ask(chaos.url, "eth_chainId")), "0x7a69")
      })
    )

    it.effect("meets the same sequence with the same faults", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const run = Effect.scoped(
          Effect.gen(function* () {
            const schedule = { faults: rpcFaults, perMille: 400 }
            const random = TrialRandom.make("same")
            const chaos = yield* RpcChaos.make({ upstream: chain.rpcUrl, random, schedule, latencyMillis: 1 })
            yield* Effect.forEach(Array.from({ length: 40 }), (_, index) =>
              ask(chaos.url, ["eth_chainId", "eth_blockNumber", "eth_getTransactionReceipt"][index % 3] ?? "", "0x1")
            )
            return chaos.fates
          })
        )
        const first = yield* run
        assert.isAbove(first.filter((fault) => fault !== undefined).length, 5)
        assert.deepStrictEqual(yield* run, first)
      })
    )
  })
})
