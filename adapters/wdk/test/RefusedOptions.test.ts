/** The mistakes in options, each refused by name. */
import { assert, describe, it } from "vitest"

import { evmSigner, tonSigner, tronSigner, wdkBuyer } from "../src/index.ts"
import * as TestWdk from "./TestWdk.ts"

const ton = { wallet: "ton", network: "ton:mainnet", rpcUrl: "http://127.0.0.1:1" }

const cases: ReadonlyArray<readonly [unknown, RegExp]> = [
  [{ accounts: {} }, /^wdkBuyer: accounts: expected an account of evm, ton or tron, got none$/],
  [{}, /^wdkBuyer: accounts: expected a plain object, got nothing$/],
  [{ accounts: { eth: { wallet: "evm" } } }, /^wdkBuyer: accounts\.eth: unknown key/],
  [{ accounts: { evm: {} } }, /^wdkBuyer: accounts\.evm\.wallet: expected the name of a registered wallet/],
  [
    { accounts: { evm: { wallet: "evm", indx: 1 } } },
    /^wdkBuyer: accounts\.evm\.indx: unknown key; did you mean index\?$/
  ],
  [{ accounts: { evm: { wallet: "evm", index: -1 } } }, /evm\.index: expected a whole number of at least 0, got -1$/],
  [
    { accounts: { evm: { wallet: "evm", index: 0, path: "0'/0/0" } } },
    /"evm" has an index and a path; give one of them$/
  ],
  [{ accounts: { evm: { wallet: "evm", network: "base chain" } } }, /^exactEvm\.client: network: "base chain"/],
  [
    { accounts: { ton: { wallet: "ton", network: "ton:mainnet" } } },
    /^wdkBuyer: accounts\.ton\.rpcUrl: expected the URL/
  ],
  [{ accounts: { ton: { ...ton, kind: "external" } } }, /^wdkBuyer: accounts\.ton\.kind: unknown key/],
  [
    { accounts: { evm: { wallet: "evm" } }, limits: { perday: "$1" } },
    /^wdkBuyer: limits\.perday: unknown key; did you mean/
  ],
  [{ accounts: { evm: { wallet: "evm" } }, schemes: [] }, /^wdkBuyer: schemes: unknown key/],
  [{ accounts: { evm: { wallet: "evm" } }, fetch: "fetch" }, /^wrapFetch: fetch: expected the fetch to wrap/],
  [null, /^wdkBuyer: the options: expected a plain object, got null$/]
]

const messageOf = async (promise: Promise<unknown>): Promise<string> => {
  try {
    await promise
    return "it was accepted"
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

describe("wdkBuyer refuses", () => {
  it.each(cases)("%o", async (options, message) => {
    assert.match(await messageOf(wdkBuyer(TestWdk.make({}), options as never)), message)
  })

  it("something else than a WDK", async () => {
    const accounts = { evm: { wallet: "evm" } }
    assert.match(await messageOf(wdkBuyer({} as never, { accounts })), /^wdkBuyer: the options: expected a WDK/)
  })

  it("a TON account at another address than its W5 wallet", async () => {
    const other = {
      ...TestWdk.tonAccount(1),
      getAddress: async () => "UQAcxX0w8rxiLjLIIBd9q-GaRDWR0w-ikFcBEk8aTPf7VlKP"
    }
    const message = await messageOf(wdkBuyer(TestWdk.make({ ton: other }), { accounts: { ton } }))
    assert.match(message, /^wdkBuyer: accounts\.ton: expected the W5 wallet UQ\S+ of the account's key, got /)
  })
})

describe("a signer refuses", () => {
  it.each([
    [
      "evmSigner",
      () => evmSigner({} as never),
      /^evmSigner: the options: expected an account of @tetherto\/wdk-wallet-evm/
    ],
    [
      "tronSigner",
      () => tronSigner({} as never),
      /^tronSigner: the options: expected an account of @tetherto\/wdk-wallet-tron/
    ],
    [
      "tonSigner",
      async () => tonSigner({} as never),
      /^tonSigner: the options: expected an account of @tetherto\/wdk-wallet-ton/
    ],
    [
      "tonSigner",
      async () => tonSigner({ ...TestWdk.tonAccount(1), keyPair: { publicKey: new Uint8Array(31) } }),
      /^tonSigner: expected a public key of 32 bytes/
    ]
  ])("another object: %s", async (_, make, message) => {
    assert.match(await messageOf(make()), message)
  })
})
