import { median } from "../Median.ts"
import * as PaidLoad from "../PaidLoad.ts"
import type * as PeerChain from "../PeerChain.ts"
/**
 * The cost of a payment in the buyer's process, without the network: a 402 is read, an offer chosen, a payment signed and
 * written, the response read. Ours and the peer's in turns, each at the 402 of its own shop, which is repeated from memory.
 */
import * as MeasuredShop from "../roles/MeasuredShop.ts"
import * as OurService from "../roles/OurService.ts"
import * as RoleProcess from "../roles/RoleProcess.ts"
import type { Row } from "../Row.ts"

const warmUp: PaidLoad.Level = { buyers: 1, millis: 1_500 }
const level: PaidLoad.Level = { buyers: 1, millis: 800 }
const rounds = 5

/** Microseconds of CPU a payment. */
export const measure = async (chain: PeerChain.PeerChain): Promise<ReadonlyArray<Row>> => {
  const { accounts, rpcUrl } = chain
  const facilitators = [
    await OurService.start(chain, { store: "memory", batches: false, key: accounts.signers[0].privateKey }),
    await RoleProcess.startPeer("facilitator", { rpcUrl, key: accounts.signers[1].privateKey })
  ] as const
  const [ours, peer] = facilitators
  const shops = [
    await MeasuredShop.start(chain, ours.url),
    await RoleProcess.startPeer("express", { facilitator: peer.url, payTo: accounts.payee.address })
  ] as const
  const crowd = (buyer: string, shop: RoleProcess.RoleProcess, addons = false) =>
    RoleProcess.startPeer("crowd", {
      buyer,
      addons,
      keys: [accounts.payers[0].privateKey],
      rpcUrl,
      url: `${shop.url}/report`,
      rehearsal: true
    })
  const crowds: ReadonlyArray<Crowd> = [
    { name: "our client", buyers: await crowd("ours", shops[0]), micros: [] },
    { name: "our client, native signatures", buyers: await crowd("ours", shops[0], true), micros: [] },
    { name: "the peer's", buyers: await crowd("peer", shops[1]), micros: [] }
  ]
  for (const { buyers } of crowds) await microsOf(buyers, warmUp)
  for (let round = 0; round < rounds; round++) {
    for (const { buyers, micros } of crowds) micros.push(await microsOf(buyers, level))
  }
  await Promise.all([...crowds.map(({ buyers }) => buyers), ...shops, ...facilitators].map((role) => role.stop()))
  const theirs = median(crowds.at(-1)?.micros ?? [])
  return crowds.map(({ micros, name }, index) => {
    const value = median(micros)
    const ratios = index === crowds.length - 1 ? [] : [{ than: "the peer's", ratio: theirs / value }]
    return { name: `a payment without the network: ${name}`, value, unit: "µs CPU", ratios }
  })
}

/** Buyers of one kind, and what a payment has cost each time. */
interface Crowd {
  readonly name: string
  readonly buyers: RoleProcess.RoleProcess
  readonly micros: Array<number>
}

/** Every payment must be taken, or the figure means nothing. */
const microsOf = async (crowd: RoleProcess.RoleProcess, buying: PaidLoad.Level): Promise<number> => {
  const before = await crowd.cpuMicros()
  const { answers, millis } = await PaidLoad.buy(crowd, buying)
  const used = (await crowd.cpuMicros()) - before
  if (answers["200"] !== millis.length) throw new Error(`buyers were answered ${JSON.stringify(answers)}`)
  return used / millis.length
}
