import { assert, describe, it } from "@effect/vitest"
import * as chains from "viem/chains"

import * as EvmNetwork from "../../src/primitives/EvmNetwork.ts"
import * as UsdcDeployments from "../../src/primitives/UsdcDeployments.ts"

describe("EvmNetwork", () => {
  it("reads a chain id and gives it back", () => {
    for (const chainId of [1, 10, 8453, 42161, 31_337, Number.MAX_SAFE_INTEGER]) {
      const network = EvmNetwork.fromText(`eip155:${chainId}`)
      assert.strictEqual(network, EvmNetwork.fromChainId(chainId))
      assert.strictEqual(network && EvmNetwork.chainId(network), chainId)
    }
  })

  it("reads names of chains as viem and x402 write them", () => {
    for (const [name, { id }] of Object.entries(chains)) {
      const network = EvmNetwork.fromText(name)
      if (network !== undefined) assert.strictEqual(network, EvmNetwork.fromChainId(id), name)
    }
    const named: Readonly<Record<string, number>> = {
      base: chains.base.id,
      "base-sepolia": chains.baseSepolia.id,
      baseSepolia: chains.baseSepolia.id,
      BASE_SEPOLIA: chains.baseSepolia.id,
      ethereum: chains.mainnet.id,
      sepolia: chains.sepolia.id,
      "polygon-amoy": chains.polygonAmoy.id,
      "avalanche-fuji": chains.avalancheFuji.id,
      optimism: chains.optimism.id,
      arbitrum: chains.arbitrum.id,
      "sei-testnet": chains.seiTestnet.id
    }
    for (const [name, chainId] of Object.entries(named)) {
      assert.strictEqual(EvmNetwork.fromText(name), EvmNetwork.fromChainId(chainId), name)
    }
  })

  it("reads every name of x402's version 1 as that version does", () => {
    const names: Readonly<Record<string, number>> = {
      abstract: 2741,
      "abstract-testnet": 11124,
      avalanche: 43114,
      "avalanche-fuji": 43113,
      educhain: 41923,
      iotex: 4689,
      peaq: 3338,
      polygon: 137,
      "polygon-amoy": 80002,
      sei: 1329,
      "sei-testnet": 1328,
      "skale-base-sepolia": 324705682,
      story: 1514
    }
    for (const [name, chainId] of Object.entries(names)) {
      assert.strictEqual(EvmNetwork.fromText(name), EvmNetwork.fromChainId(chainId), name)
    }
  })

  it("has a name for every network with a USDC of Circle's", () => {
    const named = new Set(["ethereum", ...Object.keys(chains)].map((name) => EvmNetwork.fromText(name)))
    const isNamed = (chainId: number) => named.has(EvmNetwork.fromChainId(chainId))
    for (const [chainId] of UsdcDeployments.deployments) assert.isTrue(isNamed(chainId), `${chainId}`)
  })

  it("reads nothing else", () => {
    const beyond = (2n ** 53n).toString()
    const texts = [
      "",
      "eip155",
      "eip155:",
      "eip155:0",
      "eip155:01",
      "eip155:-1",
      "eip155:1.0",
      "eip155:0x1",
      "eip155:1e3"
    ]
    for (const text of [
      ...texts,
      "mainnet",
      "testnet",
      "bass",
      "constructor",
      "base sepolia",
      `base${"-".repeat(60)}`,
      " eip155:1",
      "eip155:1\n",
      "EIP155:1",
      "eip155:١",
      `eip155:${beyond}`,
      "ton:mainnet"
    ]) {
      assert.isUndefined(EvmNetwork.fromText(text), JSON.stringify(text))
    }
  })
})
