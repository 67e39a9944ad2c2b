/**
 * Which frames of a terminal the gateway has confirmed as durable. An `ack` of the gateway confirms all
 * numbers up to its `seq`. An `ack` of the terminal has no number: it is confirmed with the first
 * numbered frame that followed it on the same connection, since the gateway writes frames in order.
 */
type Confirm = () => void;

interface OpenAck {
  readonly connection: number;
  readonly confirm: Confirm;
  coveredBy: number | undefined;
}

export class Confirmations {
  saidSeq = 0;
  ackedSeq = 0;
  readonly #bySeq = new Map<number, Confirm>();
  #openAcks: OpenAck[] = [];

  /** `connection`: the one that carried the frame at once; undefined if the frame waits for the next one. */
  said(seq: number, connection: number | undefined, confirm: Confirm): void {
    this.saidSeq = seq;
    this.#bySeq.set(seq, confirm);
    for (const ack of this.#openAcks) {
      if (ack.connection === connection) ack.coveredBy ??= seq;
    }
  }

  saidAck(connection: number, confirm: Confirm): void {
    this.#openAcks.push({ connection, confirm, coveredBy: undefined });
  }

  acked(seq: number, connection: number): void {
    for (let each = this.ackedSeq + 1; each <= seq; each++) {
      this.#bySeq.get(each)?.();
      this.#bySeq.delete(each);
    }
    this.ackedSeq = Math.max(this.ackedSeq, seq);
    this.#openAcks = this.#openAcks.filter((ack) => {
      const isConfirmed = ack.connection === connection && (ack.coveredBy ?? Infinity) <= seq;
      if (isConfirmed) ack.confirm();
      return !isConfirmed;
    });
  }

  closed(connection: number): void {
    this.#openAcks = this.#openAcks.filter((ack) => ack.connection !== connection);
  }
}
