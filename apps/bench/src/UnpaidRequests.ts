/**
 * What a shop's process spends on a request that is not paid: bare Koa, a free route behind the middleware, and the 402.
 */
import type { EvmTestChain } from "@pontage/evm/testing"

import * as HttpLoad from "./HttpLoad.ts"
import * as MeasuredProcess from "./MeasuredProcess.ts"
import type { Row } from "./Row.ts"

const warmUp = 20_000
const requests = 20_000
const rounds = 5

/** The three figures, microseconds of CPU a request, best of five rounds that take turns. */
export const measure = async (chain: EvmTestChain.Shape): Promise<ReadonlyArray<Row>> => {
  const { accounts, rpcUrl } = chain
  const facilitator = await MeasuredProcess.start("FacilitatorRole.js", rpcUrl, accounts.signers[0].privateKey)
  const args = [rpcUrl, facilitator.url, accounts.payee.address]
  const bare = await MeasuredProcess.start("ShopRole.js", "bare", "4101", ...args)
  const gated = await MeasuredProcess.start("ShopRole.js", "gated", "4102", ...args)
  const targets = [
    { shop: bare, path: "/report", status: 200 },
    { shop: gated, path: "/free", status: 200 },
    { shop: gated, path: "/report", status: 402 }
  ] as const
  const best = targets.map(() => Infinity)
  for (const { path, shop, status } of targets) await load(shop, path, status, warmUp)
  for (let round = 0; round < rounds; round++) {
    for (const [index, { path, shop, status }] of targets.entries()) {
      best[index] = Math.min(best[index] ?? Infinity, await load(shop, path, status, requests))
    }
  }
  await Promise.all([bare, gated, facilitator].map((role) => role.stop()))
  const [plain = 0, free = 0, refused = 0] = best
  return [
    { name: "bare Koa route", value: plain, unit: "µs CPU" },
    { name: "free route behind the middleware", value: free, unit: "µs CPU", note: over(free, plain, 3) },
    { name: "unpaid 402", value: refused, unit: "µs CPU", note: over(refused, plain, 15) }
  ]
}

const over = (value: number, base: number, target: number) =>
  `${(value - base).toFixed(1)} over bare Koa, target at most ${target}`

/** Microseconds of the shop's CPU for each request. Every answer must have the status, or the figure means nothing. */
const load = async (shop: MeasuredProcess.MeasuredProcess, path: string, status: number, count: number) => {
  const before = await shop.usage()
  const statuses = await HttpLoad.run(`${shop.url}${path}`, count)
  const after = await shop.usage()
  if (statuses.get(status) !== count)
    throw new Error(`${path} answered ${JSON.stringify([...statuses])}, not ${status}`)
  return (after.cpuMicros - before.cpuMicros) / count
}
