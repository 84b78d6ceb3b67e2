// Shapes that only the F# compiler makes: tail calls, curried functions, discriminated unions.
module ShapesFs.Program

open System

type Shape =
    | Circle of float
    | Square of float

[<AbstractClass; Sealed>]
type Tails =
    static member Next(f: Func<int, int>, x: int) : int = f.Invoke(x)
    static member Chain(f: Func<int, int>, x: int) : int = if x > 3 then Tails.Next(f, x) else Tails.Chain(f, x + 1)
    static member Text(x: int, k: string -> string) : string = k (string x)

type Areas() =
    member _.Area(shape: Shape) =
        match shape with
        | Circle r -> 3.0 * r * r
        | Square a -> a * a
    member _.Fail(message: string) : int = failwith message

let rec even n = if n = 0 then true else odd (n - 1)
and odd n = if n = 0 then false else even (n - 1)

[<EntryPoint>]
let main _ =
    printfn "chain %d" (Tails.Chain(Func<int, int>(fun x -> x * 10), 0))
    printfn "text %s" (Tails.Text(5, (fun s -> s + "!")))
    printfn "even %b" (even 1000000)
    let areas = Areas()
    printfn "circle %g" (areas.Area(Circle 2.0))
    printfn "square %g" (areas.Area(Square 3.0))
    try
        areas.Fail "no area" |> ignore
    with e -> printfn "caught %s" e.Message
    9
