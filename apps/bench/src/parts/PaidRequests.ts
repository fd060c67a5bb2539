/**
 * The cost of a paid request, each role in its own process: buyer, shop, facilitator; the chain is counted apart.
 */
import type { EvmTestChain } from "@pontage/evm/testing"

import * as MeasuredProcess from "../roles/MeasuredProcess.ts"
import type { Row } from "../Row.ts"

const buyers = 8
const warmUpEach = 15
const each = 50

/** CPU of each role and questions to the RPC, for one paid request, eight buyers at once. */
export const measure = async ({ accounts, rpcUrl }: EvmTestChain.Shape): Promise<ReadonlyArray<Row>> => {
  const facilitator = await MeasuredProcess.start("FacilitatorRole.js", rpcUrl, accounts.signers[1].privateKey)
  const shop = await MeasuredProcess.start(
    "ShopRole.js",
    "gated",
    "4103",
    rpcUrl,
    facilitator.url,
    accounts.payee.address
  )
  const keys = accounts.payers.slice(0, buyers).map(({ privateKey }) => privateKey)
  const buyer = await MeasuredProcess.start("BuyerRole.js", shop.url, ...keys)
  const roles = { buyer, shop, facilitator }

  await buy(buyer, warmUpEach)
  const before = await usages(roles)
  const start = process.hrtime.bigint()
  await buy(buyer, each)
  const wall = Number(process.hrtime.bigint() - start) / 1e9
  const after = await usages(roles)
  await Promise.all(Object.values(roles).map((role) => role.stop()))

  const count = buyers * each
  const millis = (role: keyof typeof roles) => (after[role].cpuMicros - before[role].cpuMicros) / 1000 / count
  const total = millis("buyer") + millis("shop") + millis("facilitator")
  const questions = Object.entries(after.facilitator.rpc).map(
    ([method, total]) => [method, (total - (before.facilitator.rpc[method] ?? 0)) / count] as const
  )
  const asked = questions.filter(([, share]) => share > 0).map(([method, share]) => `${method} ${share.toFixed(2)}`)
  return [
    { name: "paid request: buyer", value: millis("buyer"), unit: "ms CPU" },
    { name: "paid request: shop", value: millis("shop"), unit: "ms CPU" },
    { name: "paid request: facilitator", value: millis("facilitator"), unit: "ms CPU" },
    { name: "paid request: all three", value: total, unit: "ms CPU", note: "target at most 8" },
    {
      name: "paid request: questions to the RPC",
      value: questions.reduce((sum, [, share]) => sum + share, 0),
      unit: "calls",
      note: asked.join(", ")
    },
    {
      name: "paid requests, 8 buyers at once",
      value: count / wall,
      unit: "per second",
      note: "wall time, chain included"
    }
  ]
}

const buy = async (buyer: MeasuredProcess.MeasuredProcess, count: number) => {
  const served = await buyer.ask(count)
  if (served !== count * buyers) throw new Error(`${served} of ${count * buyers} purchases were served`)
}

interface Roles {
  readonly buyer: MeasuredProcess.MeasuredProcess
  readonly shop: MeasuredProcess.MeasuredProcess
  readonly facilitator: MeasuredProcess.MeasuredProcess
}

const usages = async ({ buyer, facilitator, shop }: Roles) => ({
  buyer: await buyer.usage(),
  shop: await shop.usage(),
  facilitator: await facilitator.usage()
})
