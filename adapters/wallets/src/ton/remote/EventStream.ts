/** Reads a stream of server-sent events (WHATWG HTML, 9.2), each up to a limit: a longer one is left out, to its end. */

/** Maximum length of an event, in characters. A signed message takes 2,000. */
export const longestEvent = 65_536

/** An event. */
export interface ServerEvent {
  readonly id: string | undefined
  readonly data: string
}

/** Calls `take` for each event with data until the stream ends; rejects if it breaks. */
export const read = async (stream: ReadableStream<Uint8Array>, take: (event: ServerEvent) => void): Promise<void> => {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  const parser = new EventParser(take)
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
    const { done, value } = await reader.read()
    if (done) return
    parser.add(decoder.decode(value, { stream: true }))
  }
}

class EventParser {
  readonly #take: (event: ServerEvent) => void
  /** The end of a chunk that may be half of a line's end. */
  #held = ""
  #line = ""
  #lineLength = 0
  #data: Array<string> = []
  #length = 0
  #id: string | undefined

  constructor(take: (event: ServerEvent) => void) {
    this.#take = take
  }

  add(chunk: string): void {
    const text = this.#held + chunk
    this.#held = text.endsWith("\r") ? "\r" : ""
    const lines = text.slice(0, text.length - this.#held.length).split(/\r?\n/)
    lines.forEach((line, index) => {
      this.#length += line.length
      this.#lineLength += line.length
      this.#line = this.#length <= longestEvent ? this.#line + line : ""
      if (index < lines.length - 1) this.#endLine()
    })
  }

  #endLine(): void {
    if (this.#lineLength === 0) this.#endEvent()
    // The rest of a longer event is left out, up to its end.
    else if (this.#length <= longestEvent) this.#field(this.#line)
    this.#line = ""
    this.#lineLength = 0
  }

  #endEvent(): void {
    if (this.#data.length > 0 && this.#length <= longestEvent) this.#take({ id: this.#id, data: this.#data.join("\n") })
    this.#data = []
    this.#length = 0
    this.#id = undefined
  }

  #field(line: string): void {
    const [, name, value = ""] = /^(\w+):? ?(.*)$/.exec(line) ?? []
    if (name === "data") this.#data.push(value)
    if (name === "id") this.#id = value
  }
}
