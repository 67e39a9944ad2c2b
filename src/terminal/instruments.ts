/** Defines the instruments of the paper broker. Prices and sizes are realistic; all settle in USD. */
export interface Instrument {
  readonly symbol: string;
  /** Order prices are multiples of it. */
  readonly tickSize: number;
  /** Quantities are positive multiples of it. */
  readonly quantityStep: number;
  /** USD that a quantity of 1 gains when the price rises by 1. */
  readonly pointValue: number;
  readonly startPrice: number;
}

// oxfmt-ignore
const table: readonly Instrument[] = [
  { symbol: 'ES',     tickSize: 0.25,    quantityStep: 1,      pointValue: 50,      startPrice: 5_000 },
  { symbol: 'NQ',     tickSize: 0.25,    quantityStep: 1,      pointValue: 20,      startPrice: 18_000 },
  { symbol: 'CL',     tickSize: 0.01,    quantityStep: 1,      pointValue: 1_000,   startPrice: 75 },
  { symbol: 'GC',     tickSize: 0.1,     quantityStep: 1,      pointValue: 100,     startPrice: 2_400 },
  { symbol: 'EURUSD', tickSize: 0.00001, quantityStep: 0.01,   pointValue: 100_000, startPrice: 1.085 },
  { symbol: 'GBPUSD', tickSize: 0.00001, quantityStep: 0.01,   pointValue: 100_000, startPrice: 1.27 },
  { symbol: 'BTCUSD', tickSize: 0.01,    quantityStep: 0.0001, pointValue: 1,       startPrice: 60_000 },
  { symbol: 'ETHUSD', tickSize: 0.01,    quantityStep: 0.001,  pointValue: 1,       startPrice: 3_000 },
  { symbol: 'AAPL',   tickSize: 0.01,    quantityStep: 1,      pointValue: 1,       startPrice: 190 },
  { symbol: 'MSFT',   tickSize: 0.01,    quantityStep: 1,      pointValue: 1,       startPrice: 420 },
];

export const instruments: ReadonlyMap<string, Instrument> = new Map(
  table.map((instrument) => [instrument.symbol, instrument]),
);
