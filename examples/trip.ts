// Which city of Portugal is the best for a weekend? One cell: it finds its tools, asks for all cities at once, goes on
// after it was suspended, and returns only what matters.

interface City {
  city: string;
  population: number;
}

const [weather] = await catalog.search("weather forecast");
text(`Found ${weather.callableName} ${weather.input} -> ${weather.output}`);

const cities: City[] = await list_cities({ country: "PT" });

// All calls at once: six tools run at the same time, and a slow one does not hold up the others.
const offers = await Promise.all(
  cities.map(async ({ city }) => {
    const [forecast, hotels] = await Promise.all([weather({ city }), find_hotels({ city })]);
    return { city, ...forecast, hotel: hotels.reduce((a, b) => (a.price <= b.price ? a : b)) };
  }),
);
text(`${offers.length} cities compared`);

// Here the cell gives control back. Its virtual machine becomes a snapshot of a few kilobytes, and goes on here.
await yield_control("six answers are in");

const best = offers.filter((o) => o.rain < 1).sort((a, b) => a.hotel.price - b.hotel.price)[0];
const price = await convert_money({ euros: best.hotel.price, currency: "USD" });

// A tool's failure is an ordinary error, with the tool's own code.
const booking = await book_hotel({ city: best.city }).catch((e) => `not booked: ${e.message} (${e.code})`);

return { city: best.city, hotel: best.hotel.name, dollars: price.amount, booking };
