/**
 * The cost of an unpaid request in a shop's process, ours on every host and the peer's on Express and Hono: the framework
 * alone, a free route behind the middleware, and the 402.
 */
import * as HttpLoad from "../HttpLoad.ts"
import { median } from "../Median.ts"
import type * as PeerChain from "../PeerChain.ts"
import * as MeasuredShop from "../roles/MeasuredShop.ts"
import * as OurService from "../roles/OurService.ts"
import * as RoleProcess from "../roles/RoleProcess.ts"
import type { HostName } from "../roles/ShopHosts.ts"
import type { Ratio, Row } from "../Row.ts"

const warmUp = 10_000
const requests = 5_000
const rounds = 5

interface Host {
  readonly name: string
  readonly isOurs: boolean
  /** The budget of the middleware on a free route and on a 402, in microseconds. */
  readonly budget?: { readonly free: number; readonly refused: number; readonly everybody: number }
  readonly bare: RoleProcess.RoleProcess
  readonly gated: RoleProcess.RoleProcess
}

/** Our hosts, and their names in the table. */
const ourHosts = [
  ["koa", "Koa"],
  ["nest", "Nest"],
  ["express", "Express"],
  ["fastify", "Fastify"],
  ["hono", "Hono"],
  ["web", "Fetch handler"],
  ["next", "Next"]
] as const satisfies ReadonlyArray<readonly [HostName, string]>

/** Microseconds of CPU a request, medians of rounds that take turns; what counts is what the middleware adds. */
export const measure = async (chain: PeerChain.PeerChain): Promise<ReadonlyArray<Row>> => {
  const { accounts, rpcUrl } = chain
  const key = accounts.signers[0].privateKey
  const facilitator = await OurService.start(chain, { store: "memory", batches: false, key })
  const peer = await RoleProcess.startPeer("facilitator", { rpcUrl, key: accounts.signers[1].privateKey })
  const payTo = accounts.payee.address
  const peers = async (role: string, name: string): Promise<Host> => ({
    name,
    isOurs: false,
    bare: await RoleProcess.startPeer(role, { payTo }),
    gated: await RoleProcess.startPeer(role, { payTo, facilitator: peer.url })
  })
  const ours = async ([host, name]: (typeof ourHosts)[number]): Promise<Host> => ({
    name: `${name}, ours`,
    isOurs: true,
    budget: { free: 3, refused: 15, everybody: 15 },
    bare: await MeasuredShop.start(chain, undefined, host),
    gated: await MeasuredShop.start(chain, facilitator.url, host)
  })
  const hosts: ReadonlyArray<Host> = [
    ...(await Promise.all(ourHosts.map((host) => ours(host)))),
    await peers("express", "Express, the peer's"),
    await peers("hono", "Hono, the peer's")
  ]
  const targets = hosts.flatMap((host) => targetsOf(host))
  for (const target of targets) await load(target, warmUp)
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) target.micros.push(await load(target, requests))
  }
  await Promise.all([...targets.map(({ shop }) => shop), facilitator, peer].map((role) => role.stop()))
  return rowsOf(hosts, targets)
}

type Kind = "bare" | "free" | "refused" | "everybody"

interface Target {
  readonly host: Host
  readonly kind: Kind
  readonly shop: RoleProcess.RoleProcess
  readonly path: string
  readonly status: number
  readonly micros: Array<number>
}

const targetsOf = (host: Host): ReadonlyArray<Target> => [
  { host, kind: "bare", shop: host.bare, path: "/report", status: 200, micros: [] },
  { host, kind: "free", shop: host.gated, path: "/free", status: 200, micros: [] },
  { host, kind: "refused", shop: host.gated, path: "/report", status: 402, micros: [] },
  ...(host.name === "Koa, ours"
    ? [{ host, kind: "everybody" as const, shop: host.gated, path: "/everybody", status: 402, micros: [] }]
    : [])
]

const titles = {
  bare: "bare route",
  free: "free route behind the middleware",
  refused: "unpaid 402",
  everybody: "unpaid 402 in four dialects"
} as const

const rowsOf = (hosts: ReadonlyArray<Host>, targets: ReadonlyArray<Target>): ReadonlyArray<Row> => {
  const microsOf = (host: Host, kind: Kind) =>
    median(targets.find((target) => target.host === host && target.kind === kind)?.micros ?? [])
  return targets.map(({ host, kind }) => {
    const value = microsOf(host, kind)
    const added = value - microsOf(host, "bare")
    const allowed = kind === "bare" ? undefined : host.budget?.[kind]
    const ratios = hosts
      .filter((other) => host.isOurs && kind !== "bare" && kind !== "everybody" && !other.isOurs)
      .map((other): Ratio => ({ than: other.name, ratio: microsOf(other, kind) / value }))
    return {
      name: `${titles[kind]}: ${host.name}`,
      value,
      unit: "µs CPU",
      ratios,
      ...(kind !== "bare" && {
        note: `${added.toFixed(1)} over the bare route, ${(value / microsOf(host, "bare")).toFixed(2)} of it${allowed === undefined ? "" : `, target at most ${allowed}`}`
      })
    }
  })
}

/** Microseconds of the shop's CPU for each request. Every response must have the status, or the figure means nothing. */
const load = async ({ path, shop, status }: Target, count: number): Promise<number> => {
  const before = await shop.cpuMicros()
  const statuses = await HttpLoad.run(`${shop.url}${path}`, count)
  const after = await shop.cpuMicros()
  if (statuses.get(status) !== count)
    throw new Error(`${path} answered ${JSON.stringify([...statuses])}, not ${status}`)
  return (after - before) / count
}
