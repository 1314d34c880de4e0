@test "maps" { map_cases one-piece sudden-ends either-order; }
