import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import { deployBatchSettler, EvmRpc, exactEvm } from "../src/index.ts"

const signer = exactEvm.localSigner(`0x${"1".repeat(64)}`)
const rpcUrl = "http://127.0.0.1:1"
const asset = {
  network: "eip155:1",
  address: `0x${"2".repeat(40)}`,
  symbol: "X",
  decimals: 6,
  name: "X",
  version: "1"
}

const thrown = (make: () => unknown) => Effect.try({ try: make, catch: (error) => error })

const refused = (making: Effect.Effect<unknown, unknown>, message: RegExp) =>
  Effect.match(making, {
    onSuccess: () => assert.fail("it was taken"),
    onFailure: (error) => {
      assert.instanceOf(error, Misconfigured)
      assert.match(error instanceof Misconfigured ? error.message : "", message)
    }
  })

describe("exactEvm.client refuses", () => {
  const good = { signer, network: "eip155:1" }
  it.effect.each([
    [{ ...good, asset: [] }, /^exactEvm\.client: asset: unknown key; did you mean assets\?$/],
    [{ ...good, assets: asset }, /^exactEvm\.client: assets: expected a list, got an object$/],
    [{ ...good, assets: [{ ...asset, dolar: false }] }, /assets\[0\]\.dolar: unknown key; did you mean dollar\?$/],
    [{ ...good, assets: [{ ...asset, dollar: "no" }] }, /assets\[0\]\.dollar: expected true or false, got a text$/],
    [
      { ...good, signer: signer.address },
      /signer: expected a signer, such as exactEvm\.localSigner\(privateKey\) or a viem account, got a text$/
    ],
    [
      { ...good, network: undefined },
      /network: expected a network such as .*, got nothing; is the environment variable/
    ],
    [{ ...good, network: "bass" }, /^exactEvm\.client: network: "bass" is not an EVM network; write its chain id/],
    [{ ...good, signer: undefined }, /^exactEvm\.client: give a signer, such as .*, or an account, such as/],
    [{ ...good, account: { address: signer.address } }, /account: expected a smart account, such as one of viem's/],
    [null, /^exactEvm\.client: the options: expected a plain object, got null$/]
  ] as const)("%o", ([options, message]) =>
    refused(
      thrown(() => exactEvm.client(options as never)),
      message
    )
  )
})

describe("exactEvm.server refuses", () => {
  it.effect.each([
    [{ rpcUrl: undefined }, /rpcUrl: expected the URL of a node, .*, got nothing; is the environment variable/],
    [{ rpcUrl: "127.0.0.1:8545" }, /rpcUrl: expected the URL of a node, with http:\/\/ or https:\/\/, .*, got a text$/],
    [{ rpcUrl: "localhost:8545" }, /rpcUrl: expected the URL of a node, with http:\/\/ or https:\/\/, .*, got a text$/],
    [{ rpcURL: rpcUrl }, /^exactEvm\.server: rpcURL: unknown key; did you mean rpcUrl\?$/],
    [
      { rpcUrl, signer },
      /^exactEvm\.server: signer: unknown key; the keys are rpcUrl, network, assets, contractPayers, bridges$/
    ],
    [Object.create({ rpcUrl }), /^exactEvm\.server: the options: expected a plain object/]
  ] as const)("%o", ([options, message]) =>
    refused(
      thrown(() => exactEvm.server(options as never)),
      message
    )
  )
})

describe("exactEvm.facilitator refuses, before it asks a node,", () => {
  const good = { signer, rpcUrl }
  it.effect.each([
    [{ ...good, maxfeepergas: 1n }, /^exactEvm\.facilitator: maxfeepergas: unknown key; did you mean maxFeePerGas\?$/],
    [{ ...good, maxFeePerGas: 1 }, /maxFeePerGas: expected a bigint of at least 1, such as 1000n, got a number$/],
    [{ ...good, batche: {} }, /batche: unknown key; did you mean batches\?$/],
    [
      { ...good, batches: { settler: "0x", maxCost: 1n } },
      /batches\.maxCost: unknown key; the keys are settler, operationSettler, permitSettler, maximum/
    ],
    [{ ...good, batches: null }, /batches: expected a plain object, got null$/],
    [{ ...good, batches: {} }, /batches: give settler for EIP-3009 transfers, operationSettler/],
    [{ ...good, contractPayers: "false" }, /contractPayers: expected "known" or "any" or "none", got "false"$/],
    [{ ...good, finalityDepth: 1.5 }, /finalityDepth: expected a whole number of at least 0, got 1\.5$/],
    [{ rpcUrl, signer: {} }, /signer: expected a signer, such as .*, got an object; or expected a list/],
    [
      { rpcUrl, signer: [signer, {}] },
      /signer\[1\]: expected a signer, such as .* or a viem local account, got an object$/
    ]
  ] as const)("%o", ([options, message]) => refused(Effect.scoped(exactEvm.facilitator(options as never)), message))
})

describe("each part that asks a node refuses", () => {
  const good = { url: rpcUrl, network: "eip155:1" }
  it.effect.each([
    [{ ...good, timeoutMillis: 1 }, /^the RPC: timeoutMillis: unknown key/],
    [{ ...good, timeout: "soon" }, /^the RPC: timeout: expected a duration/],
    [{ ...good, timeout: -1 }, /^the RPC: timeout: expected a duration/],
    [{ ...good, headers: { "x-key": 1 } }, /^the RPC: headers\["x-key"\]: expected a text, got a number$/]
  ] as const)("%o", ([options, message]) => refused(EvmRpc.make(options as never), message))

  it.effect("a deployment with what it does not know", () =>
    refused(
      deployBatchSettler({ signer, rpcUrl, maxFeePerGass: 1n } as never),
      /^deployBatchSettler: maxFeePerGass: unknown key; did you mean maxFeePerGas\?$/
    )
  )
})
