/**
 * The series of a metric by their labels, each made once: making one costs more than counting. All labels come from small
 * fixed sets.
 */
import * as Metric from "effect/Metric"

/**
 * The series of this metric.
 *
 * @category constructors
 */
export const seriesOf = <Input, State>(metric: Metric.Metric<Input, State>) => {
  const known = new Map<string, Metric.Metric<Input, State>>()
  return (labels: Readonly<Record<string, string>>): Metric.Metric<Input, State> => {
    const key = Object.values(labels).join(" ")
    const series = known.get(key) ?? Metric.withAttributes(metric, labels)
    known.set(key, series)
    return series
  }
}
