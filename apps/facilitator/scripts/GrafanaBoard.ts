/**
 * The Grafana board of the service, generated from the metrics in its sources: `node apps/facilitator/scripts/GrafanaBoard.ts`
 * writes `grafana-dashboard.json`, one panel for each metric, in rows by subject. A test holds the file against the sources.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const app = join(import.meta.dirname, "..")

/** The file. */
export const boardFile = join(app, "grafana-dashboard.json")

/** A metric, as it is made in a source. */
export interface DeclaredMetric {
  readonly name: string
  readonly kind: "counter" | "gauge" | "histogram"
  readonly description: string
}

const declaration =
  /Metric\.(counter|gauge|histogram)\(\s*"(pontage_[a-z0-9_]+)",\s*\{[^{}]*?description:\s*(?:"([^"]*)"|`([^`]*)`)/g

/** Every metric of the service, by name. */
export const metrics = (): ReadonlyArray<DeclaredMetric> =>
  globSync("src/**/*.ts", { cwd: app })
    .flatMap((path) => Array.from(readFileSync(join(app, path), "utf8").matchAll(declaration)))
    .map(([, kind, name = "", text, template]): DeclaredMetric => {
      const known = kind === "counter" || kind === "histogram" ? kind : "gauge"
      return { name, kind: known, description: text ?? template ?? "" }
    })
    .toSorted((one, other) => one.name.localeCompare(other.name))

/** The rows of the board, and the beginnings of their metrics' names. */
const subjects: ReadonlyArray<readonly [title: string, prefixes: ReadonlyArray<string>]> = [
  ["Payments", ["pontage_payment_", "pontage_payments_", "pontage_facilitator_"]],
  ["Lanes", ["pontage_lane_"]],
  ["Deliveries to other networks", ["pontage_delivery_"]],
  ["Gas", ["pontage_signer_", "pontage_gas_", "pontage_caller_"]],
  ["Records", ["pontage_store_"]],
  ["Webhooks", ["pontage_webhook_"]],
  ["Nodes and connections", ["pontage_rpc_", "pontage_connections_"]]
]

/** Metrics that no row takes: a new subject needs a row. */
export const unplaced = (all: ReadonlyArray<DeclaredMetric>): ReadonlyArray<string> =>
  all
    .map(({ name }) => name)
    .filter((name) => !subjects.some(([, prefixes]) => prefixes.some((prefix) => name.startsWith(prefix))))

const queryOf = ({ kind, name }: DeclaredMetric): string => {
  if (kind === "counter") return `rate(${name}[$__rate_interval])`
  if (kind === "gauge") return name
  return `histogram_quantile(0.95, sum by (le, method, operation) (rate(${name}_bucket[$__rate_interval])))`
}

const unitOf = ({ kind, name }: DeclaredMetric): string => {
  if (kind === "counter") return "ops"
  return name.endsWith("_seconds") ? "s" : "short"
}

const width = 8
const height = 7
const datasource = { type: "prometheus", uid: "${datasource}" }

const panelOf = (metric: DeclaredMetric, id: number, x: number, y: number) => ({
  id,
  type: "timeseries",
  title: metric.name.replace(/^pontage_/, "").replaceAll("_", " "),
  description: `${metric.description} (${metric.name})`,
  datasource,
  gridPos: { x, y, w: width, h: height },
  fieldConfig: { defaults: { unit: unitOf(metric) }, overrides: [] },
  targets: [{ refId: "A", datasource, expr: queryOf(metric), legendFormat: "__auto" }]
})

/** The board of these metrics, as Grafana imports it. */
export const board = (all: ReadonlyArray<DeclaredMetric>) => {
  const panels: Array<object> = []
  let y = 0
  for (const [title, prefixes] of subjects) {
    const own = all.filter(({ name }) => prefixes.some((prefix) => name.startsWith(prefix)))
    panels.push({
      id: panels.length + 1,
      type: "row",
      title,
      collapsed: false,
      gridPos: { x: 0, y: y++, w: 24, h: 1 },
      panels: []
    })
    for (const [index, metric] of own.entries()) {
      const [column, row] = [index % 3, Math.floor(index / 3)]
      panels.push(panelOf(metric, panels.length + 1, column * width, y + row * height))
    }
    y += Math.ceil(own.length / 3) * height
  }
  return {
    uid: "pontage-facilitator",
    title: "Pontage facilitator",
    tags: ["pontage"],
    timezone: "utc",
    editable: true,
    refresh: "10s",
    time: { from: "now-1h", to: "now" },
    templating: { list: [{ name: "datasource", type: "datasource", query: "prometheus", label: "Data source" }] },
    schemaVersion: 39,
    panels
  }
}

if (import.meta.main) writeFileSync(boardFile, `${JSON.stringify(board(metrics()), null, 2)}\n`)
