/**
 * The folders of each package. They lie above each other, and a file imports from its own folder and from
 * those below it, so that each can be read without those above.
 */
import { importsOf, isRelative, resolved } from "./Imports.ts"
import type { SourceFile } from "./SourceText.ts"

/** The files that lie beside the folders, in the package's folder itself. */
const beside = ""

const family = ["exact", "evidence", "sending", "wallet", "payment", "transfer", "node", "crypto", "primitives"]

/** The folders in a folder, from the top down. */
export const plan: Readonly<Record<string, ReadonlyArray<string>>> = {
  "core/src/wire/": [beside, "x402-api", "x402", "mpp", "pontage", "http"],
  "core/src/server/": ["host", beside, "discovery", "request", "offer", "route", "shop", "http"],
  "core/src/facilitator/": ["local", "delivery", "lane", "queue", "x402", "remote", "channel", "store", beside],
  "schemes/evm/src/": [
    beside,
    "channel",
    "channel-jobs",
    "delivery",
    "topup",
    "exact",
    "inventory",
    "bridge",
    "evidence",
    "sending",
    "wallet",
    "payment",
    "voucher",
    "route",
    "transfer",
    "node",
    "crypto",
    "primitives"
  ],
  "schemes/ton/src/": [
    beside,
    "exact",
    "evidence",
    "sending",
    "payment",
    "transfer",
    "wallet",
    "node",
    "crypto",
    "primitives",
    "cells"
  ],
  "schemes/tron/src/": [beside, ...family],
  "apps/facilitator/src/": [
    beside,
    "settling",
    "settings",
    "api",
    "discovery",
    "readiness",
    "webhooks",
    "callers",
    "http",
    "metrics",
    "logs"
  ]
}

/** Folders outside this order: their own rules are in `Layers.ts`. */
const isElsewhere = (path: string) => /\/(?:testing|artifacts)\//.test(path)

/** The most files that lie beside each other in one folder. */
export const mostBeside = 22

interface Place {
  readonly floor: number
  readonly folder: string
}

const placeOf = (base: string, folders: ReadonlyArray<string>, path: string): Place | undefined => {
  if (!path.startsWith(base) || isElsewhere(path)) return undefined
  const rest = path.slice(base.length)
  const folder = rest.includes("/") ? rest.slice(0, rest.indexOf("/")) : beside
  return { floor: folders.indexOf(folder), folder }
}

/** Every file in no folder of the plan, and every import from a folder into one above it. */
export const breaches = (project: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  Object.entries(plan).flatMap(([base, folders]) => project.flatMap((file) => breachesOf(base, folders, file)))

const breachesOf = (base: string, folders: ReadonlyArray<string>, file: SourceFile): ReadonlyArray<string> => {
  const from = placeOf(base, folders, file.path)
  if (from === undefined) return []
  if (from.floor < 0) return [`${file.path}: no folder of ${base} is called ${from.folder}`]
  return importsOf(file).flatMap((one) => {
    const to = isRelative(one) ? placeOf(base, folders, resolved(one)) : undefined
    return to !== undefined && to.floor < from.floor
      ? [`${file.path}: imports ${resolved(one)}, from a folder above`]
      : []
  })
}

/** Every folder in which too many files lie beside each other to be taken in at a glance. Generated files are not read. */
export const crowdedFolders = (project: ReadonlyArray<SourceFile>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const { path } of project) {
    if (path.includes("/artifacts/")) continue
    const folder = path.slice(0, path.lastIndexOf("/"))
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts].flatMap(([folder, count]) =>
    count > mostBeside ? [`${folder}: ${count} files beside each other, at most ${mostBeside}`] : []
  )
}
