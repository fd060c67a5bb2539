import { assert, describe, it } from "@effect/vitest"
import { TronWeb } from "tronweb"

import * as TronSignature from "../../src/crypto/TronSignature.ts"
import * as TronAddress from "../../src/primitives/TronAddress.ts"
import * as TronHex from "../../src/primitives/TronHex.ts"
import * as TronTransaction from "../../src/transfer/TronTransaction.ts"
import { localSigner } from "../../src/wallet/LocalTronSigner.ts"
import * as TronSigner from "../../src/wallet/TronSigner.ts"
import { transfer, tronWebOf } from "../TronTransfers.ts"

const parts = "12".repeat(64)
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

describe("TronSignature", () => {
  it("normalises every form of a signature", () => {
    for (const v of ["00", "1b", "1B"]) {
      assert.strictEqual(TronSignature.fromText(`${parts}${v}`), `${parts}1b`)
      assert.strictEqual(TronSignature.fromText(`0x${parts}${v}`), `${parts}1b`)
    }
    for (const v of ["01", "1c", "1C"]) assert.strictEqual(TronSignature.fromText(`${parts}${v}`), `${parts}1c`)
    assert.strictEqual(TronSignature.fromText(`${"AB".repeat(64)}1b`), `${"ab".repeat(64)}1b`)
  })

  it("refuses everything else", () => {
    for (const text of ["", parts, `${parts}1d`, `${parts}02`, `${parts}1b00`, `${parts.slice(2)}1b`, `0X${parts}1b`]) {
      assert.isUndefined(TronSignature.fromText(text), text)
    }
  })

  it.each([1, 2, 3, 4, 5])("recovers the signer of tronweb with the key %i, and not from other bytes", async (key) => {
    const signer = TronSigner.fromTronWeb(tronWebOf(key.toString(16).padStart(64, "0")))
    const owner = TronAddress.fromText(signer.address) ?? transfer.owner
    const unsigned = TronTransaction.unsignedTransfer({ ...transfer, owner })
    const { signature } = await signer.signTransaction(unsigned)
    const normal = TronSignature.fromText(signature[0] ?? "") ?? ""
    const digest = TronHex.toBytes(unsigned.txID)
    assert.strictEqual(TronSignature.recoverAddress(digest, normal), owner)
    assert.isFalse(TronSignature.isHighS(normal))
    assert.notStrictEqual(TronSignature.recoverAddress(digest.with(0, (digest[0] ?? 0) ^ 1), normal), owner)
    const s = BigInt(`0x${normal.slice(64, 128)}`)
    const twin = `${normal.slice(0, 64)}${TronHex.toWord(order - s)}${normal.endsWith("1b") ? "1c" : "1b"}`
    assert.isTrue(TronSignature.isHighS(twin))
    assert.strictEqual(TronSignature.recoverAddress(digest, twin), owner)
  })

  it("recovers no account from an invalid signature", () => {
    const digest = new Uint8Array(32).fill(7)
    assert.isUndefined(TronSignature.recoverAddress(digest, `${"00".repeat(64)}1b`))
    assert.isUndefined(TronSignature.recoverAddress(digest, `${"ff".repeat(64)}1b`))
  })
})

describe("TronSigner", () => {
  it("signs the payment that tronweb 6.5.1 signed once with the key 1", async () => {
    const unsigned = TronTransaction.unsignedTransfer(transfer)
    assert.deepStrictEqual(await localSigner("1".padStart(64, "0")).signTransaction(unsigned), {
      raw_data_hex: unsigned.raw_data_hex,
      signature: [
        "66a44551098ec08a48f7a4eeb6a25c978803fe0f870d4557e7b89bc21b671ddf02ee3d98491a289c6edd98de1a6b22499dd999a6d988eb3189fca62a3dc3c9d71b"
      ]
    })
  })

  it.each(["", "0x"])("signs with a key after %o as tronweb does, and has the same account", async (prefix) => {
    const privateKey = "2a".padStart(64, "0")
    const theirs = TronSigner.fromTronWeb(tronWebOf(privateKey))
    const ours = localSigner(`${prefix}${privateKey}`)
    assert.strictEqual(ours.address, theirs.address)
    assert.strictEqual(ours.address, TronWeb.address.fromPrivateKey(privateKey))
    const owner = TronAddress.fromText(ours.address) ?? transfer.owner
    const unsigned = TronTransaction.unsignedTransfer({ ...transfer, owner })
    const [mine, other] = await Promise.all([ours.signTransaction(unsigned), theirs.signTransaction(unsigned)])
    assert.strictEqual(mine.raw_data_hex, other.raw_data_hex)
    assert.strictEqual(mine.signature[0], TronSignature.fromText(other.signature[0] ?? ""))
  })

  it("shows no key in messages, and refuses one that is out of range", () => {
    for (const unset of [undefined, ""]) {
      assert.throws(() => localSigner(unset as never), /is the environment variable that holds it set\?/)
    }
    for (const key of ["0".repeat(64), "f".repeat(64), "zz".repeat(32), "abcd"]) {
      assert.throws(() => localSigner(key), /the private key is not 64 digits/)
    }
    assert.notInclude(JSON.stringify(localSigner("1".repeat(64))), "1".repeat(64))
  })

  it("requests the account of a page's wallet first", async () => {
    const requests: Array<string> = []
    const provider = {
      request: async ({ method }: { readonly method: string }) => void requests.push(method),
      tronWeb: tronWebOf("0".repeat(63).concat("1"))
    }
    const signer = await TronSigner.fromTip1193(provider)
    assert.deepStrictEqual(requests, ["eth_requestAccounts"])
    assert.strictEqual(signer.address, provider.tronWeb.defaultAddress.base58)
    const locked = TronSigner.fromTip1193({ ...provider, tronWeb: false })
    assert.match(await locked.then(String, String), /is locked/)
    assert.throws(() => TronSigner.fromTronWeb(new TronWeb({ fullHost: "http://127.0.0.1:1" })), /no selected account/)
  })

  it("does not let a wallet change the given transaction", async () => {
    const signer = TronSigner.fromTronWeb(tronWebOf("0".repeat(63).concat("1")))
    const unsigned = TronTransaction.unsignedTransfer(transfer)
    const before = structuredClone(unsigned)
    await signer.signTransaction(unsigned)
    assert.deepStrictEqual(unsigned, before)
  })
})
