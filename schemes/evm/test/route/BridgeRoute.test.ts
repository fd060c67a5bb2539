import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { encodeAbiParameters, encodeFunctionData, type Hex, keccak256, pad, parseAbi, parseAbiParameters } from "viem"

import { bridgeRouterAddress, cctpRouterAddress } from "../../src/index.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as BridgeRoute from "../../src/route/BridgeRoute.ts"
import { routers } from "../../src/route/RouteRouters.ts"
import type * as Eip3009 from "../../src/transfer/Eip3009.ts"

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map(EvmHex.fromBytes)
const address = bytes(20).map(EvmAddress.fromTail)
const amount = fc.bigInt(0n, 2n ** 256n - 1n)

const routes: fc.Arbitrary<BridgeRoute.BridgeRoute> = fc.record({
  token: address,
  bridge: address,
  destination: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  recipient: address,
  amount,
  minimum: amount,
  fee: amount,
  feeRecipient: address,
  options: fc.uint8Array({ maxLength: 70 }).map(EvmHex.fromBytes),
  tag: bytes(32)
})

const abi = parseAbi([
  "function pay(address from, uint256 validAfter, uint256 validBefore, bytes signature, (address token, address bridge, uint32 destination, bytes32 recipient, uint256 amount, uint256 minimum, uint256 fee, address feeRecipient, bytes options, bytes32 tag) route) payable"
])

const authorizations = fc.record({
  from: address,
  to: address,
  value: amount,
  validAfter: amount,
  validBefore: amount,
  nonce: bytes(32)
})

const kinds = fc.constantFrom("oft" as const, "cctp" as const)

const word = (text: string) => text as EvmHex.Hex

describe("BridgeRoute", () => {
  it("names the routers that our bytecode makes", () => {
    assert.strictEqual(EvmAddress.checksum(routers.oft.address), bridgeRouterAddress)
    assert.strictEqual(EvmAddress.checksum(routers.cctp.address), cctpRouterAddress)
  })

  it("reads what a message's price depends on from its own calldata, and from no other", () => {
    fc.assert(
      fc.property(routes, authorizations, bytes(65), (route, authorization, signature) => {
        const { amount, bridge, destination, minimum, options, recipient } = route
        const data = BridgeRoute.encodePay(authorization, signature, route)
        assert.deepStrictEqual(BridgeRoute.sentBy(data), { amount, bridge, destination, minimum, options, recipient })
        assert.isUndefined(BridgeRoute.sentBy(word(`0x00000000${data.slice(10)}`)))
        assert.isUndefined(BridgeRoute.sentBy(word(data.slice(0, 10 + 64 * 12))))
      })
    )
    assert.isUndefined(BridgeRoute.sentBy("0x"))
  })

  it("computes the nonce of a route as the contract does", () =>
    fc.assert(
      fc.property(routes, fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), kinds, (route, chainId, kind) => {
        const parameters = parseAbiParameters(
          "uint256, address, uint8, address, address, uint32, bytes32, uint256, uint256, uint256, address, bytes32, bytes32"
        )
        const { amount, bridge, destination, fee, feeRecipient, minimum, options, recipient, tag, token } = route
        const encoded = encodeAbiParameters(parameters, [
          BigInt(chainId),
          routers[kind].address,
          routers[kind].number,
          token,
          bridge,
          destination,
          pad(recipient),
          amount,
          minimum,
          fee,
          feeRecipient,
          keccak256(options),
          tag
        ])
        const expected: Hex = `${keccak256(encoded).slice(0, 50)}${"0".repeat(16)}` as Hex
        assert.strictEqual(BridgeRoute.nonceOf(chainId, kind, route), expected)
      })
    ))

  it("encodes the call as viem does", () =>
    fc.assert(
      fc.property(routes, address, bytes(65), amount, (route, from, signature, validBefore) => {
        const authorization: Eip3009.TransferWithAuthorization = {
          from,
          to: routers.oft.address,
          value: 1n,
          validAfter: 7n,
          validBefore,
          nonce: route.tag
        }
        const args = [from, 7n, validBefore, signature, { ...route, recipient: pad(route.recipient) }] as const
        const expected = encodeFunctionData({ abi, functionName: "pay", args })
        assert.strictEqual(BridgeRoute.encodePay(authorization, signature, route), expected)
      })
    ))

  it("finds the message of an authorization in the router's own event alone", () => {
    const [from, nonce, guid] = [
      EvmAddress.fromTail(`0x${"1".repeat(40)}`),
      `0x${"2".repeat(64)}`,
      `0x${"3".repeat(64)}`
    ]
    const log = {
      address: routers.oft.address,
      topics: [BridgeRoute.bridgedTopic, pad(from), word(nonce), word(guid)] as ReadonlyArray<EvmHex.Hex>,
      data: word(`0x${EvmHex.toWord(5)}`)
    }
    const found = (one: typeof log) =>
      BridgeRoute.messageIn({ from, nonce: word(nonce), to: routers.oft.address }, [one])
    assert.deepStrictEqual(found(log), { guid: word(guid), arriving: 5n })
    assert.isUndefined(found({ ...log, address: from }))
    assert.isUndefined(found({ ...log, topics: log.topics.toSpliced(1, 1, word(guid)) }))
    assert.isUndefined(found({ ...log, topics: log.topics.toSpliced(2, 1, word(guid)) }))
    assert.isUndefined(found({ ...log, data: "0x" }))
  })
})
