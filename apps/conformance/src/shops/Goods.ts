/**
 * The goods of every shop, so that only the packages differ: a report, another one at the same price, and one whose handler
 * fails as often as it is told to. The handlers count their runs.
 */

/** The paths of the goods. */
export const paths = { report: "/report", other: "/other", flaky: "/flaky" } as const

/** The goods at a path. */
export type Path = (typeof paths)[keyof typeof paths]

/** A handler's response. */
export interface Delivery {
  readonly status: number
  readonly body: { readonly report: string } | { readonly error: string }
}

/** The goods of one shop. */
export interface Goods {
  /** The number of runs of each path's handler. */
  readonly runs: Record<Path, number>
  /** The number of further runs of the flaky handler that fail. */
  failuresLeft: number
  /** Runs the handler of a path. */
  readonly deliver: (path: Path) => Delivery
}

/** The text of the report. */
export const text = "It will rain, and then it will not."

/** Fresh goods: nothing ran yet, and nothing fails. */
export const make = (): Goods => {
  const goods: Goods = {
    runs: { "/report": 0, "/other": 0, "/flaky": 0 },
    failuresLeft: 0,
    deliver: (path) => {
      goods.runs[path]++
      if (path === paths.flaky && goods.failuresLeft-- > 0)
        return { status: 500, body: { error: "the handler failed" } }
      return { status: 200, body: { report: text } }
    }
  }
  return goods
}

/** A running shop. */
export interface Shop {
  readonly url: string
  readonly goods: Goods
}
