/**
 * Series of a metric by their labels. Each is made once, because making one costs more than counting, and with its labels,
 * because labels that are added to a metric later are merged on every count. All labels come from small fixed sets.
 */
import type * as Metric from "effect/Metric"

type Labels = Readonly<Record<string, string>>

/** Series of this metric. */
export const seriesOf = <Input, State>(make: (labels: Labels) => Metric.Metric<Input, State>) => {
  const known = new Map<string, Metric.Metric<Input, State>>()
  return (labels: Labels): Metric.Metric<Input, State> => {
    const key = Object.values(labels).join(" ")
    const series = known.get(key) ?? make(labels)
    known.set(key, series)
    return series
  }
}
