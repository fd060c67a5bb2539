/** An account of `wdk-wallet-evm-erc-4337`: its Safe pays, and what its owner is asked to sign is the Safe's. */
import { createServer } from "node:http"

import { afterAll, assert, beforeAll, describe, it } from "vitest"

import { evmSigner, safeSigner, wdkBuyer } from "../src/index.ts"
import type { EvmAccount } from "../src/index.ts"
import * as TestWdk from "./TestWdk.ts"

const safe = "0x97682ff1A980a96D65Ea606b717441E3662c557E"
const signature = `0x${"ab".repeat(64)}1b`
const owners = Buffer.from("038318535b54105d4a7aae60c08fc45f9687181b4fdfc625bd1a753fa7397fed75", "hex")

type Signed = Parameters<EvmAccount["signTypedData"]>[0]

/** The account that the WDK makes of the seed "test test … junk", with a count of what it signed. */
const safeAccount = (address = safe) => {
  const signed: Array<Signed> = []
  return {
    signed,
    getAddress: async () => address,
    signTypedData: async (data: Signed) => {
      signed.push(data)
      return signature
    },
    keyPair: { publicKey: Uint8Array.from(owners) }
  }
}

let code = "0x"
const node = createServer((_, response) =>
  response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: code }))
)
let rpcUrl = ""

const data = {
  domain: { name: "USD Coin", version: "2", chainId: 8453, verifyingContract: `0x${"11".repeat(20)}` },
  types: { Note: [{ name: "text", type: "string" }] },
  primaryType: "Note",
  message: { text: "a cent" }
} as const

const messageOf = async (promise: Promise<unknown>): Promise<string> => {
  try {
    await promise
    return "it was accepted"
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

describe("safeSigner", () => {
  beforeAll(async () => {
    await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve))
    const address = node.address()
    rpcUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`
  })
  afterAll(() => void node.close())

  it("signs as the Safe, in the wrapped form until it is deployed", async () => {
    const account = safeAccount()
    const signer = await safeSigner(account, { rpcUrl })
    assert.strictEqual(signer.address, safe)
    code = "0x"
    const wrapped = await signer.signTypedData(data)
    assert.isTrue(wrapped.endsWith("6492".repeat(16)) && wrapped.includes(signature.slice(2)))
    code = "0x6001"
    assert.strictEqual(await signer.signTypedData(data), signature)
    assert.strictEqual(account.signed.length, 2)
    for (const { domain, message, types } of account.signed) {
      assert.deepStrictEqual({ ...domain }, { chainId: 8453, verifyingContract: safe.toLowerCase() })
      assert.deepStrictEqual(Object.keys(types), ["SafeMessage"])
      assert.match(String(message["message"]), /^0x[0-9a-f]{64}$/)
    }
  })

  it("is refused for an account that is no Safe of its key, and evmSigner for one that is", async () => {
    const elsewhere = safeAccount(`0x${"11".repeat(20)}`)
    assert.match(
      await messageOf(safeSigner(elsewhere, { rpcUrl })),
      /^safeSigner: expected the Safe 1\.4\.1 0x97682ff1/
    )
    const keyless: EvmAccount = { getAddress: async () => safe, signTypedData: async () => signature }
    assert.match(
      await messageOf(safeSigner(keyless, { rpcUrl })),
      /expected an account of @tetherto\/wdk-wallet-evm-erc-4337/
    )
    assert.match(
      await messageOf(evmSigner(safeAccount())),
      /^evmSigner: the account 0x97682ff1\S+ is not that of its key/
    )
    const plain = safeAccount("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
    assert.strictEqual((await evmSigner(plain)).address, "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
  })

  it("is what wdkBuyer pays with, given a node", async () => {
    const wdk = TestWdk.make({ evm: safeAccount() })
    const evm = { wallet: "evm", network: "base" }
    const pay = await wdkBuyer(wdk, { accounts: { evm: { ...evm, rpcUrl } } })
    assert.deepStrictEqual(pay.addresses, { evm: safe })
    assert.match(await messageOf(wdkBuyer(wdk, { accounts: { evm } })), /needs rpcUrl, a node of its network/)
  })
})
