/** Keystores: the published vector of Web3 Secret Storage, and what is made here. */
import { assert, describe, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"

import * as Keystore from "../src/wallet/Keystore.ts"

/** https://ethereum.org/en/developers/docs/data-structures-and-encoding/web3-secret-storage: the vector of scrypt. */
const vector = {
  address: "008aeeda4d805471df9b2a5b0f38a0c3bcba786b",
  crypto: {
    cipher: "aes-128-ctr",
    cipherparams: { iv: "83dbcc02d8ccb40e466191a123791e0e" },
    ciphertext: "d172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c",
    kdf: "scrypt",
    kdfparams: {
      dklen: 32,
      n: 262144,
      p: 8,
      r: 1,
      salt: "ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19"
    },
    mac: "2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097"
  },
  id: "3198bc9c-6672-5ab3-d995-4942343ae5b6",
  version: 3
}
const key = "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d"

const read = (value: unknown) => Keystore.fromText(JSON.stringify(value))

describe("a keystore", () => {
  it("of the published vector opens by its password alone", async () => {
    const keystore = read(vector) ?? assert.fail("the vector is not read")
    const opened = await Keystore.decrypt(keystore, Redacted.make("testpassword"))
    assert.strictEqual(Redacted.value(opened), key)
    assert.notInclude(JSON.stringify([opened]), key)
    const wrong = await Keystore.decrypt(keystore, Redacted.make("testpassworD")).catch((error: unknown) => error)
    assert.include(String(wrong), "the password does not open this wallet")
  })

  it("that was made here holds its key encrypted, and opens again", async () => {
    const secret = Redacted.make(Uint8Array.from(Buffer.from(key, "hex")))
    const owner = { family: "ton", address: "0:00", publicKey: new Uint8Array(32).fill(7) } as const
    const text = JSON.stringify(await Keystore.encrypt(secret, Redacted.make("a password"), owner))
    assert.notInclude(text, key)
    const again = Keystore.fromText(text) ?? assert.fail("it is not read again")
    assert.strictEqual(Keystore.familyOf(again), "ton")
    assert.strictEqual(Redacted.value(await Keystore.decrypt(again, Redacted.make("a password"))), key)
  })

  it("that would take all memory, or is of another kind, is refused", () => {
    const { crypto } = vector
    const { kdfparams } = crypto
    for (const change of [{ n: 2 ** 30 }, { r: 1024 }, { p: 1000 }, { salt: "zz" }, { dklen: 64 }]) {
      assert.isUndefined(read({ ...vector, crypto: { ...crypto, kdfparams: { ...kdfparams, ...change } } }))
    }
    assert.isUndefined(read({ ...vector, version: 1 }))
    assert.isUndefined(read({ ...vector, crypto: { ...crypto, kdf: "pbkdf2" } }))
    assert.isUndefined(Keystore.fromText("{"))
  })
})
