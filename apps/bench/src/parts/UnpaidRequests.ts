/**
 * The cost of an unpaid request in a shop's process, ours on every host and the peer's on Express and Hono: the framework
 * alone, a free route behind the middleware, and the 402. Beside them what is the host's own: the same 402 as a constant, and
 * a step that does nothing.
 */
import * as HttpLoad from "../HttpLoad.ts"
import { median } from "../Median.ts"
import type * as PeerChain from "../PeerChain.ts"
import * as MeasuredShop from "../roles/MeasuredShop.ts"
import * as OurService from "../roles/OurService.ts"
import * as RoleProcess from "../roles/RoleProcess.ts"
import { type HostName, steppedPath } from "../roles/ShopHosts.ts"
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
  const ours = async ([host, name]: (typeof ourHosts)[number]): Promise<Host> => {
    const gated = await MeasuredShop.start(chain, facilitator.url, host)
    const copies = {
      [constants.refused]: await MeasuredShop.copyOf(`${gated.url}/report`),
      [constants.everybody]: await MeasuredShop.copyOf(`${gated.url}/everybody`)
    }
    const bare = await MeasuredShop.start(chain, undefined, host, copies)
    return { name: `${name}, ours`, isOurs: true, budget: { free: 3, refused: 15, everybody: 15 }, bare, gated }
  }
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

/** The paths of the constants. */
const constants = { refused: "/constant", everybody: "/constant-for-everybody" } as const

type Kind = "bare" | "stepped" | "free" | "constant" | "refused" | "constants" | "everybody"

interface Target {
  readonly host: Host
  readonly kind: Kind
  readonly shop: RoleProcess.RoleProcess
  readonly path: string
  readonly status: number
  readonly micros: Array<number>
}

/** Hosts whose steps cost more than the budget of a free route by themselves. */
const steps: ReadonlySet<string> = new Set(["Nest, ours", "Express, ours"])

const targetsOf = (host: Host): ReadonlyArray<Target> => {
  const { bare, gated, isOurs, name } = host
  const target = (kind: Kind, shop: RoleProcess.RoleProcess, path: string, status = 200): Target => ({
    host,
    kind,
    shop,
    path,
    status,
    micros: []
  })
  return [
    target("bare", bare, "/report"),
    ...(steps.has(name) ? [target("stepped", bare, steppedPath)] : []),
    target("free", gated, "/free"),
    ...(isOurs ? [target("constant", bare, constants.refused, 402)] : []),
    target("refused", gated, "/report", 402),
    ...(name === "Koa, ours"
      ? [target("constants", bare, constants.everybody, 402), target("everybody", gated, "/everybody", 402)]
      : [])
  ]
}

const titles = {
  bare: "bare route",
  stepped: "bare route behind a step that does nothing",
  free: "free route behind the middleware",
  constant: "the same 402 as a constant of the host",
  refused: "unpaid 402",
  constants: "the same 402 in four dialects as a constant of the host",
  everybody: "unpaid 402 in four dialects"
} as const

/** The kind that shows the host's own part of another. */
const hostsOwn: Readonly<Partial<Record<Kind, Kind>>> = {
  free: "stepped",
  refused: "constant",
  everybody: "constants"
}

/** The kinds that the peers' shops have too. */
const compared: ReadonlySet<Kind> = new Set(["free", "refused"])

const rowsOf = (hosts: ReadonlyArray<Host>, targets: ReadonlyArray<Target>): ReadonlyArray<Row> => {
  const find = (host: Host, kind: Kind) => targets.find((target) => target.host === host && target.kind === kind)
  const microsOf = (host: Host, kind: Kind) => median(find(host, kind)?.micros ?? [])
  const noteOf = ({ host, kind }: Target): string => {
    const [value, bare] = [microsOf(host, kind), microsOf(host, "bare")]
    const own = hostsOwn[kind]
    const allowed = budgetOf(host, kind)
    return [
      `${(value - bare).toFixed(1)} over the bare route, ${(value / bare).toFixed(2)} of it`,
      ...(own !== undefined && find(host, own)
        ? [`${(value - microsOf(host, own)).toFixed(1)} over ${titles[own]}`]
        : []),
      ...(allowed === undefined ? [] : [`target at most ${allowed}`])
    ].join(", ")
  }
  return targets.map((target) => {
    const { host, kind } = target
    const value = microsOf(host, kind)
    const ratios = hosts
      .filter((other) => host.isOurs && compared.has(kind) && !other.isOurs)
      .map((other): Ratio => ({ than: other.name, ratio: microsOf(other, kind) / value }))
    const row = { name: `${titles[kind]}: ${host.name}`, value, unit: "µs CPU", ratios }
    return kind === "bare" ? row : { ...row, note: noteOf(target) }
  })
}

const budgetOf = ({ budget }: Host, kind: Kind): number | undefined =>
  kind === "free" || kind === "refused" || kind === "everybody" ? budget?.[kind] : undefined

/** Microseconds of the shop's CPU for each request. Every response must have the status, or the figure means nothing. */
const load = async ({ path, shop, status }: Target, count: number): Promise<number> => {
  const before = await shop.cpuMicros()
  const statuses = await HttpLoad.run(`${shop.url}${path}`, count)
  const after = await shop.cpuMicros()
  if (statuses.get(status) !== count)
    throw new Error(`${path} answered ${JSON.stringify([...statuses])}, not ${status}`)
  return (after - before) / count
}
