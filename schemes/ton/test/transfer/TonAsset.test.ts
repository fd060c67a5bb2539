import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as TonAddress from "../../src/primitives/TonAddress.ts"
import * as TonNetwork from "../../src/primitives/TonNetwork.ts"
import * as TonAsset from "../../src/transfer/TonAsset.ts"

const raw = `0:${"12".repeat(32)}`
const own: TonAsset.CustomAsset = { network: TonNetwork.mainnet, address: raw, symbol: "GOLD", decimals: 9 }

/** The same account in the other form; its tag marks it for test networks, or not. */
const friendly = (testOnly: boolean): string => {
  const bytes = Buffer.concat([Buffer.from([testOnly ? 0x91 : 0x11, 0]), Buffer.from("12".repeat(32), "hex")])
  let sum = 0
  for (const byte of [...bytes, 0, 0]) {
    for (let mask = 0x80; mask > 0; mask >>= 1) {
      sum = (sum << 1) | ((byte & mask) === 0 ? 0 : 1)
      if (sum > 0xffff) sum = (sum & 0xffff) ^ 0x1021
    }
  }
  return Buffer.concat([bytes, Buffer.from([sum >> 8, sum & 0xff])]).toString("base64url")
}

const messageOf = (custom: TonAsset.CustomAsset): string =>
  Result.match(TonAsset.table([custom]), { onSuccess: () => "taken", onFailure: ({ message }) => message })

describe("TonAsset.table", () => {
  it("finds a Jetton by its master in every form, by symbol, and a network's default", () => {
    const table = Result.getOrThrow(TonAsset.table([own]))
    for (const text of [undefined, "GOLD", raw, friendly(false), friendly(true)])
      assert.strictEqual(table.find(TonNetwork.mainnet, text)?.address, raw, text)
    assert.strictEqual(table.find(TonNetwork.mainnet, "USDT")?.decimals, 6)
    assert.isUndefined(table.find(TonNetwork.testnet, "GOLD"))
    for (const { address } of table.of(TonNetwork.local)) assert.strictEqual(TonAddress.fromText(address), address)
  })

  it("accepts an address with the mark of test networks on these only", () => {
    assert.strictEqual(messageOf({ ...own, address: friendly(false) }), "taken")
    assert.strictEqual(messageOf({ ...own, network: TonNetwork.testnet, address: friendly(true) }), "taken")
    assert.match(messageOf({ ...own, address: friendly(true) }), /GOLD: address ".*" is marked for test networks/)
  })

  it("names the mistake in an asset", () => {
    assert.match(messageOf({ ...own, network: "base" }), /GOLD: network "base" is not a TON network/)
    assert.match(messageOf({ ...own, address: "0x1" }), /GOLD: address "0x1" is no address/)
    assert.match(messageOf({ ...own, decimals: 37 }), /GOLD: decimals 37/)
  })
})
