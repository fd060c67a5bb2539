import { assert, describe, it } from "@effect/vitest"
import {
  concatHex,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  pad,
  parseAbi,
  parseAbiParameters,
  toEventSelector,
  toFunctionSelector,
  toHex
} from "viem"

import * as CctpCalls from "../../src/bridge/CctpCalls.ts"
import * as CctpMessage from "../../src/bridge/CctpMessage.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"

const [messenger, recipient] = [`0x${"a".repeat(40)}`, `0x${"b".repeat(40)}`] as const

/** A message as Circle's contracts pack it; the issuer's parts are those that are given. */
const messageOf = ({ amount = 5n, expires = 0n, fee = 0n, finality = 0, nonce = pad("0x") } = {}): Hex =>
  concatHex([
    ...[1, 3, 7].map((word) => toHex(word, { size: 4 })),
    nonce,
    pad("0x01"),
    pad(messenger),
    pad("0x"),
    ...[1_000, finality, 1].map((word) => toHex(word, { size: 4 })),
    pad("0x02"),
    pad(recipient),
    toHex(amount, { size: 32 }),
    pad("0x03"),
    ...[2n, fee, expires].map((word) => toHex(word, { size: 32 }))
  ])

/** The digits of a message behind its head. */
const bodyOf = (message: Hex) => message.slice(2 + 2 * 148)

describe("a message of CCTP", () => {
  const nonce = pad("0x77")
  const attested = messageOf({ nonce, finality: 1_000, fee: 2n, expires: 9n })

  it("is read from its packed form", () => {
    assert.deepStrictEqual(CctpMessage.read(attested), {
      sourceDomain: 3,
      destinationDomain: 7,
      nonce,
      messenger: EvmAddress.fromTail(messenger),
      recipient: EvmAddress.fromTail(recipient),
      amount: 5n,
      maxFee: 2n,
      fee: 2n,
      expires: 9n
    })
    assert.isUndefined(CctpMessage.read(EvmHex.fromTrusted(attested.slice(0, -2))))
    assert.isUndefined(CctpMessage.read("0x"))
  })

  it("is attested by one that differs in the issuer's parts alone", () => {
    assert.isTrue(CctpMessage.isAttestationOf(messageOf(), attested))
    const other = messageOf({ nonce, finality: 1_000, fee: 2n, expires: 9n, amount: 6n })
    assert.isFalse(CctpMessage.isAttestationOf(messageOf(), other))
  })

  it("is known by the body that its delivery shows, whatever the issuer has filled in, and by no other", () => {
    const sent = messageOf()
    const sender = pad("0x01")
    const shown = { sourceDomain: 3, sender, nonce: pad("0x78"), body: bodyOf(messageOf({ fee: 1n, expires: 8n })) }
    assert.deepInclude(CctpMessage.receivedAs(sent, shown), { amount: 5n, fee: 1n, expires: 8n })
    for (const other of [
      { sourceDomain: 7 },
      { sender: pad("0x04") },
      { body: bodyOf(messageOf({ amount: 6n })) },
      { body: shown.body.slice(2) },
      { body: "" }
    ]) {
      assert.isUndefined(CctpMessage.receivedAs(sent, { ...shown, ...other }), JSON.stringify(other))
    }
    const log = {
      address: EvmAddress.zero,
      topics: [CctpCalls.receivedTopic, pad("0x05"), pad("0x78"), pad("0x07d0")].map(EvmHex.fromTrusted),
      data: EvmHex.fromTrusted(
        encodeAbiParameters(parseAbiParameters("uint32, bytes32, bytes"), [3, sender, `0x${shown.body}`])
      )
    }
    assert.deepStrictEqual(CctpCalls.receivedIn(EvmAddress.zero, [log]), [shown])
    for (const data of ["0x", "0x00", `0x${"f".repeat(192)}`, log.data.slice(0, -66)]) {
      const found = CctpCalls.receivedIn(EvmAddress.zero, [{ ...log, data: EvmHex.fromTrusted(data) }])
      for (const one of found) assert.isUndefined(CctpMessage.receivedAs(sent, one), data)
    }
  })

  it("is called by its contracts' own functions and events", () => {
    const functions = {
      "localMessageTransmitter()": CctpCalls.getters.transmitter,
      "localMinter()": CctpCalls.getters.minter,
      "localDomain()": CctpCalls.getters.domain,
      "remoteTokenMessengers(uint32)": CctpCalls.remoteMessenger(1).slice(0, 10),
      "getLocalToken(uint32,bytes32)": CctpCalls.localToken(1, EvmAddress.zero).slice(0, 10)
    }
    for (const [text, selector] of Object.entries(functions)) assert.strictEqual(toFunctionSelector(text), selector)
    const abi = parseAbi(["function receiveMessage(bytes message, bytes attestation)"])
    const args = [attested, "0x0102"] as const
    const expected = encodeFunctionData({ abi, functionName: "receiveMessage", args })
    assert.strictEqual(CctpCalls.encodeDelivery({ message: attested, attestation: "0x0102" }), expected)
    const received = "MessageReceived(address,uint32,bytes32,bytes32,uint32,bytes)"
    assert.strictEqual(CctpCalls.receivedTopic, toEventSelector(received))
    const minted = "MintAndWithdraw(address,uint256,address,uint256)"
    assert.strictEqual(CctpCalls.mintTopic, toEventSelector(minted))
    const log = {
      address: EvmAddress.zero,
      topics: [toEventSelector("MessageSent(bytes)")],
      data: EvmHex.fromTrusted(
        concatHex([pad("0x20"), pad(toHex(CctpMessage.messageBytes)), attested, `0x${"0".repeat(16)}`])
      )
    }
    assert.deepStrictEqual(
      CctpCalls.sentIn(EvmAddress.zero, [log]).map(({ message }) => message),
      [attested]
    )
  })
})
