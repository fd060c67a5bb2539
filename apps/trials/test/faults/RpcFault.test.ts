import { assert, describe, it } from "@effect/vitest"

import { fateOf, rpcFaults, strikes } from "../../src/faults/RpcFault.ts"
import * as TrialRandom from "../../src/world/TrialRandom.ts"

const methods = ["eth_chainId", "eth_getTransactionReceipt", "eth_sendRawTransaction", "eth_getLogs", "eth_call"]
const schedule = { faults: rpcFaults, perMille: 500 }

const fates = (seed: string, perMille = 500) =>
  Array.from({ length: 1000 }, (_, index) =>
    fateOf(TrialRandom.make(seed), { ...schedule, perMille }, index, [methods[index % methods.length] ?? ""])
  )

const struck = (perMille: number) => fates("often", perMille).filter((fault) => fault !== undefined).length

describe("the fates of requests", () => {
  it("are the same for a seed and a sequence, and others for another seed", () => {
    assert.deepStrictEqual(fates("1"), fates("1"))
    assert.notDeepEqual(fates("1"), fates("2"))
  })

  it("know every fault, and each befalls only what it shows in", () => {
    const found = fates("all")
    for (const fault of rpcFaults) assert.include(found, fault)
    found.forEach((fault, index) =>
      assert.isTrue(fault === undefined || strikes(fault, methods[index % methods.length] ?? ""))
    )
    assert.isFalse(strikes("no-receipt", "eth_call"))
    assert.isFalse(strikes("wrong-chain", "eth_getLogs"))
    assert.isTrue(strikes("lag", "eth_getLogs"))
    assert.isTrue(strikes("reset", "anything"))
  })

  it("are as frequent as they are asked to be", () => {
    assert.strictEqual(struck(0), 0)
    assert.strictEqual(struck(1000), 1000)
    assert.isTrue(struck(300) > 240 && struck(300) < 360, `${struck(300)}`)
  })

  it("spoil one node of several, as often as it is asked", () => {
    const one = { ...schedule, perMille: 1000, nodes: 3 }
    const found = Array.from({ length: 1000 }, (_, index) => fateOf(TrialRandom.make("3"), one, index, ["eth_call"]))
    const count = found.filter((fault) => fault !== undefined).length
    assert.isTrue(count > 270 && count < 400, `${count}`)
  })

  it("are good where no fault is possible", () => {
    const only = { faults: ["wrong-chain"], perMille: 1000 } as const
    assert.isUndefined(fateOf(TrialRandom.make("1"), only, 0, ["eth_call"]))
    assert.strictEqual(fateOf(TrialRandom.make("1"), only, 0, ["eth_call", "eth_chainId"]), "wrong-chain")
  })
})
