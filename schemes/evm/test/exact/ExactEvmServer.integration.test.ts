import { assert, describe, it, layer } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import { exactEvm } from "../../src/index.ts"
import * as EvmNetwork from "../../src/primitives/EvmNetwork.ts"
import { EvmTestChain } from "../../src/testing/index.ts"
import type { CustomAsset } from "../../src/transfer/EvmAsset.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

/** Proves the chain's token as an operator's table might describe it. */
const proven = Effect.fnUntraced(function* (described: Partial<CustomAsset> = {}, rpcUrl?: string) {
  const shape = yield* chain
  const asset: CustomAsset = { ...Payment.asset(shape), symbol: "MINE", ...described }
  const server = exactEvm.server({ rpcUrl: rpcUrl ?? shape.rpcUrl, assets: [asset] })
  const network = EvmNetwork.fromText(asset.network) ?? (yield* Effect.die("no network"))
  const token = server.asset(network, "MINE") ?? (yield* Effect.die("no asset"))
  return yield* Effect.match(server.prove(network, [token]), {
    onSuccess: () => "proven",
    onFailure: ({ _tag, message }) => `${_tag}: ${message}`
  })
})

describe("exactEvm.server", () => {
  it("is not made of what is no network or no asset", () => {
    const rpcUrl = "http://127.0.0.1:1"
    const asset = {
      network: "eip155:1",
      address: "0x1111111111111111111111111111111111111111",
      symbol: "X",
      decimals: 6,
      name: "X",
      version: "1"
    }
    for (const network of ["mainnet", "eip155:0", "eip155:01", "eip155:-1", "eip155:1 ", "solana:1", ""]) {
      assert.throws(() => exactEvm.server({ rpcUrl, network }), Misconfigured)
      assert.throws(() => exactEvm.server({ rpcUrl, assets: [{ ...asset, network }] }), Misconfigured)
    }
    for (const address of ["0x11", "", `0x${"g".repeat(40)}`]) {
      assert.throws(() => exactEvm.server({ rpcUrl, assets: [{ ...asset, address }] }), Misconfigured)
    }
    for (const other of ["ftp://node.example", "localhost:8545", ""]) {
      assert.throws(() => exactEvm.server({ rpcUrl: other }), /rpcUrl: expected the URL of a node/)
    }
    for (const decimals of [-1, 37, 1.5, Number.NaN]) {
      assert.throws(() => exactEvm.server({ rpcUrl, assets: [{ ...asset, decimals }] }), Misconfigured)
    }
  })

  layer(EvmTestChain.layer({ payers: 1 }), { excludeTestServices: true })((it) => {
    it.effect("proves a token that is what the table says", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* proven(), "proven")
      })
    )

    it.effect("finds the mistake of a table", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        assert.match(yield* proven({ network: "eip155:1" }), /^Misconfigured: the RPC .* serves eip155:31337/)
        assert.match(yield* proven({ address: accounts.stranger.address }), /^Misconfigured: .*is there a token/)
        assert.match(yield* proven({ decimals: 18 }), /^Misconfigured: .*return 18 from decimals/)
        assert.match(yield* proven({ name: "USD Coin" }), /^Misconfigured: .*DOMAIN_SEPARATOR\(\) differs/)
        assert.match(yield* proven({ version: "2" }), /^Misconfigured: .*DOMAIN_SEPARATOR\(\) differs/)
      })
    )

    it.effect("does not take a node's trouble for a mistake", () =>
      Effect.gen(function* () {
        const proxy = yield* RpcProxy.make
        for (const method of ["eth_chainId", "eth_call"]) {
          for (const fault of [RpcProxy.page, RpcProxy.httpError, RpcProxy.broken, RpcProxy.result(null)]) {
            proxy.spoil(method, fault)
            assert.match(yield* proven({}, proxy.url), /^ChainUnavailable/, method)
          }
          proxy.mend()
        }
        assert.strictEqual(yield* proven({}, proxy.url), "proven")
      })
    )
  })
})
