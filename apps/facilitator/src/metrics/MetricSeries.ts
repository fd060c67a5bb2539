/**
 * The series of a metric by their labels, each made once: making one costs more than counting. Each has its labels from the
 * start, since labels that are added to a metric are put together anew whenever it counts. All labels come from small fixed
 * sets.
 */
import type * as Metric from "effect/Metric"

type Labels = Readonly<Record<string, string>>

/** The series of this metric. */
export const seriesOf = <Input, State>(make: (labels: Labels) => Metric.Metric<Input, State>) => {
  const known = new Map<string, Metric.Metric<Input, State>>()
  return (labels: Labels): Metric.Metric<Input, State> => {
    const key = Object.values(labels).join(" ")
    const series = known.get(key) ?? make(labels)
    known.set(key, series)
    return series
  }
}
